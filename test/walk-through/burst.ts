import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/* The training job of the walk-through: a burst of the load test, which judges us by what it saw. */

export const run = 'burst';
export const rollouts = 24;
/** Rollouts of one group, which are compared with each other. */
export const group = 4;

/** What the load test found, as far as the page tells it (`loadtest/report/load-report.ts`). */
export type Found = {
  readonly rollouts: number;
  readonly scored: number;
  readonly calls: number;
  readonly answers: Readonly<Record<string, number>>;
  readonly zeros: Readonly<Record<string, number>>;
  readonly discards: readonly { readonly what: string; readonly blame: string | null }[];
};

export type Burst = AsyncDisposable & {
  /** Resolves when every rollout has ended; rejects if it could not be played. */
  readonly ended: Promise<Found>;
};

const program = join(import.meta.dirname, '../../loadtest/load.ts');

export async function startBurst(gatewayUrl: string, apiKey: string, environment: string): Promise<Burst> {
  const out = await mkdtemp(join(tmpdir(), 'corral-walk-'));
  const json = join(out, 'load.json');
  const load = spawn(
    process.execPath,
    [program, ...orders, `--environment=${environment}`, `--out=${out}`, `--json=${json}`],
    {
      // Its words are for whoever plays it.
      stdio: ['ignore', 2, 2],
      env: { ...process.env, CORRAL_URL: gatewayUrl, CORRAL_KEY: apiKey },
    },
  );
  const exited = once(load, 'exit');
  const ended = (async () => {
    await exited;
    const found = await readFile(json, 'utf8').catch(() => null);
    if (found === null) throw new Error('the burst was not played; the load test says why above');
    return JSON.parse(found) as Found;
  })();
  // Whoever waits for it hears it; until then nobody does.
  ended.catch(() => undefined);
  return {
    ended,
    [Symbol.asyncDispose]: async () => {
      if (load.exitCode === null) load.kill('SIGKILL');
      await exited;
      await rm(out, { recursive: true, force: true });
    },
  };
}

/** Each is at work for half a minute at least, so that the node dies in the middle of many. */
const orders: readonly string[] = [
  `--run=${run}`,
  `--rollouts=${rollouts}`,
  `--groups=${group}`,
  '--calls=14',
  '--think=2.5',
  '--speed=4',
  '--minutes=3',
];
