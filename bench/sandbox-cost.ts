import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildPayload } from '#infra/payload/payload.ts';
import { sandboxdArgv } from '#src/protocol/sandboxd/payload-layout.ts';
import { tokenSha256 } from '#src/platform/tokens.ts';
import { atMost, type Benchmark, median, within } from './figures.ts';
import { startBenchFleet } from './fleet.ts';
import { familyOf, privateBytes } from './processes.ts';
import { startStraight } from './straight.ts';

const idleSandboxes = 10;
const starts = 15;
const mebibyte = 1024 * 1024;
/** Ten seconds until each plays a call through, and what that takes. */
const untilRehearsedMs = 14_000;

/** What one more sandbox costs: its memory while nobody uses it, and its start against the bare program's. */
export const sandboxCost: Benchmark = {
  name: 'sandbox-cost',
  run: async (say) => [await idleMemory(say), await startTime(say)],
};

async function idleMemory(say: (line: string) => void) {
  say(`starting ${idleSandboxes} sandboxes and leaving them alone`);
  await using bench = await startBenchFleet({ minReady: idleSandboxes, max: idleSandboxes });
  await bench.warm(idleSandboxes);
  await sleep(untilRehearsedMs);
  const sandboxes = await bench.fleet.sandboxes();
  const sizes = await Promise.all(
    sandboxes.map(async ({ pid }) => {
      const own = await Promise.all((await familyOf(pid)).map(privateBytes));
      return own.reduce((sum, bytes) => sum + bytes, 0) / mebibyte;
    }),
  );
  const what = `private memory of an idle sandbox, median of ${sizes.length}`;
  return within({ what, unit: 'MiB', value: median(sizes), floor: 15 });
}

async function startTime(say: (line: string) => void) {
  say(`${starts} sandboxes one after another, and the same program bare, in turns`);
  await using straight = await startStraight();
  const { dir } = await buildPayload(join(import.meta.dirname, '../out/payload'));
  const times = { sandbox: [] as number[], bare: [] as number[] };
  for (let start = 0; start < starts; start += 1) {
    times.sandbox.push(await sandboxStart(straight));
    times.bare.push(await bareStart(dir));
  }
  const what = `create to first answer, median of ${starts}`;
  return atMost({ what, unit: 'ms', value: median(times.sandbox), floor: median(times.bare) }, 2);
}

async function sandboxStart(straight: Awaited<ReturnType<typeof startStraight>>): Promise<number> {
  const start = performance.now();
  const target = await straight.createOnly();
  const elapsedMs = performance.now() - start;
  await straight.destroy(target);
  return elapsedMs;
}

/** sandboxd from the same payload with the same flags, as an ordinary process, until it answers. */
async function bareStart(payloadDir: string): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-bare-'));
  const [program = '', ...args] = sandboxdArgv(payloadDir);
  const socket = join(folder, 'd.sock');
  const start = performance.now();
  const daemon = spawn(program, args, {
    stdio: 'ignore',
    env: {
      CORRAL_SANDBOX_ID: 'bare',
      CORRAL_TOKEN_SHA256: tokenSha256('bare'),
      CORRAL_LISTEN: `unix:${socket}`,
      CORRAL_WORKSPACE: join(folder, 'workspace'),
      CORRAL_PAYLOAD: payloadDir,
      CORRAL_USERS: 'single-user',
    },
  });
  try {
    while (!(await healthy(socket))) await sleep(1);
    return performance.now() - start;
  } finally {
    const ended = once(daemon, 'exit');
    daemon.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  }
}

function healthy(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ socketPath, path: '/health' }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.once('error', () => resolve(false));
    asked.end();
  });
}
