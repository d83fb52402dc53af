import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describeSandboxProvider } from '#test/contract/sandbox-provider.ts';
import { expectNothingLeft } from '#test/support/left-behind.ts';
import { startNodeProcess, testTemplate } from '#test/support/sandboxes.ts';

describeSandboxProvider('local, over a real node and real sandboxes', async () => {
  const node = await startNodeProcess();
  return {
    provider: node.provider,
    template: testTemplate(),
    killFromOutside: async (sandbox) => {
      const file = join(node.stateFolder, 'sandboxes', sandbox, 'record.json');
      const { init } = JSON.parse(await readFile(file, 'utf8')) as { init: { pid: number } };
      // sandboxd is the only child of the sandbox's process 1.
      const children = await readFile(`/proc/${init.pid}/task/${init.pid}/children`, 'utf8');
      process.kill(Number(children.trim()), 'SIGKILL');
    },
    close: async () => {
      await node.stop();
      await expectNothingLeft(node.stateFolder);
    },
  };
});
