import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Release } from './release.ts';

const program = join(import.meta.dirname, '../../loadtest/load.ts');

/** What was replaced is still leaving when its replacement serves. */
const afterWorkMs = 10_000;

/**
 * The shipped load test, played at a release while `work` is done to it: eight rollouts under way at once, half of them with a
 * new connection for every request. It lasts as long as the work, however long that takes where two cores play a cluster.
 * Fails unless every rollout was scored, every answer was 200 and nothing ran twice, and unless rollouts were scored before
 * the work and were still played when it was done.
 */
export async function underLoad(release: Release, work: () => Promise<unknown>): Promise<void> {
  const out = await mkdtemp(join(tmpdir(), 'corral-load-'));
  const load = spawn(process.execPath, [program, ...orders(out)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, CORRAL_URL: release.gatewayUrl, CORRAL_KEY: release.apiKey },
  });
  const said: string[] = [];
  const listening = listen(load.stdout, said);
  const ended = once(load, 'exit');
  try {
    await Promise.race([listening, ended]);
    await work();
    await sleep(afterWorkMs);
    if (load.exitCode !== null) throw new Error(`the load ended before the work:\n${said.join('\n')}`);
    load.kill('SIGINT');
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new Error(`the load found fault:\n${said.join('\n')}`);
  } finally {
    load.kill('SIGKILL');
    await ended;
    await rm(out, { recursive: true, force: true });
  }
}

/** More rollouts than any work leaves time for; each needs a pod of its own, so they are short, and few at once. */
const orders = (out: string): readonly string[] => [
  '--all-scored',
  '--environment=counting',
  '--rollouts=10000',
  '--at-once=8',
  '--calls=6',
  '--think=0.3',
  '--speed=20',
  '--new-connections=0.5',
  '--minutes=15',
  `--out=${out}`,
];

/** Keeps every line; resolves with the first that tells of rollouts that ended well. */
function listen(output: Readable, said: string[]): Promise<void> {
  return new Promise((resolve) => {
    createInterface(output).on('line', (line) => {
      said.push(line);
      if (/ [1-9]\d* rollouts ended/.test(line)) resolve();
    });
  });
}
