import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildPayload } from '#infra/payload/payload.ts';
import { machineMs, openOffspringAccount, processMs } from '../processors.ts';

export type BareTask = {
  readonly fleet: string;
  readonly stateFolder: string;
  readonly payloadDir: string;
  /** Started before the clock runs, as a warm pool is. */
  readonly warm: number;
  readonly starts: number;
  /** What is waited for of each: that its sandboxd is up, or that it has answered the first command. */
  readonly until: 'health' | 'command';
  readonly command: string;
};

export type BareResult = { readonly lastMs: number };

export type BareBurst = {
  /** From the first instant to the last answer. */
  readonly lastMs: number;
  readonly sandboxesMs: number;
  readonly driverMs: number;
  readonly machineMs: number;
};

/** A burst of sandboxes without a fleet; `main.ts` has what is done. */
export async function runBare(
  task: Pick<BareTask, 'warm' | 'starts' | 'until' | 'command'>,
): Promise<BareBurst> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-bare-'));
  const { dir } = await buildPayload(join(import.meta.dirname, '../../out/payload'));
  const place = { fleet: 'bare', stateFolder: folder, payloadDir: dir };
  const child = fork(join(import.meta.dirname, 'main.ts'), [JSON.stringify({ ...place, ...task })]);
  const ended = once(child, 'exit');
  const hears = listener(child);
  try {
    await hears();
    await using sandboxes = await openOffspringAccount(child.pid ?? 0, place);
    const used = async () => ({
      sandboxesMs: await sandboxes.usedMs(),
      driverMs: await processMs(child.pid ?? 0),
      machineMs: await machineMs(),
    });
    const before = await used();
    child.send('begin');
    const { lastMs } = (await hears()) as BareResult;
    const after = await used();
    child.send('end');
    await ended;
    return {
      lastMs,
      sandboxesMs: after.sandboxesMs - before.sandboxesMs,
      driverMs: after.driverMs - before.driverMs,
      machineMs: after.machineMs - before.machineMs,
    };
  } finally {
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  }
}

/** Its next message; rejects when it ends without one. */
function listener(child: ChildProcess): () => Promise<unknown> {
  const died = new AbortController();
  child.once('exit', () => died.abort(new Error('the bare burst ended before it was done')));
  return async () => {
    const [message] = (await once(child, 'message', { signal: died.signal })) as [unknown];
    return message;
  };
}
