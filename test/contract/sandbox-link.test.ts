import { once } from 'node:events';
import { bootId, sandboxId } from '#src/model/ids.ts';
import { sandboxAddress } from '#src/model/rollout.ts';
import type { CallAnswer } from '#src/protocol/sandboxd/wire.ts';
import { answering, FakeSandboxLink } from '../fakes/sandbox-link.ts';
import { startSandboxd } from '../support/sandboxd.ts';
import { describeSandboxLink } from './sandbox-link.ts';

describeSandboxLink('the fake of tests', async () => {
  const link = new FakeSandboxLink();
  const target = { sandbox: sandboxId('s'), boot: bootId('b'), address: sandboxAddress('unix:/fake') };
  link.start(target.sandbox, target.boot, { probed: false });
  link.behaviour = ({ action }) => {
    const argv = action.kind === 'exec' ? action.argv : [];
    return argv[0] === 'sleep'
      ? new Promise<CallAnswer>(() => undefined)
      : answering({ stdout: argv.at(-1) ?? '' });
  };
  return { link, target, kill: async () => link.kill(target.sandbox), close: async () => undefined };
});

describeSandboxLink('HTTP to a real sandboxd', async () => {
  const sandboxd = await startSandboxd();
  const kill = async () => {
    const exited = once(sandboxd.process, 'exit');
    sandboxd.process.kill('SIGKILL');
    await exited;
  };
  return { link: sandboxd.link, target: sandboxd.target, kill, close: () => sandboxd.stop() };
});
