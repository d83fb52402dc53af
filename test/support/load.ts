import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Release } from './release.ts';

const program = join(import.meta.dirname, '../../loadtest/load.ts');

/**
 * The shipped load test, played for `seconds` at a release while `work` is done to it: 24 rollouts under way at once, half
 * of them with a new connection for every request. Fails unless every rollout was scored, every answer was 200 and nothing
 * ran twice, and unless the load began before the work and outlasted it.
 */
export async function underLoad(
  release: Release,
  seconds: number,
  work: () => Promise<unknown>,
): Promise<void> {
  const out = await mkdtemp(join(tmpdir(), 'corral-load-'));
  const load = spawn(process.execPath, [program, ...orders(seconds, out)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, CORRAL_URL: release.gatewayUrl, CORRAL_KEY: release.apiKey },
  });
  const said: string[] = [];
  const listening = listen(load.stdout, said);
  const ended = once(load, 'exit');
  try {
    await Promise.race([listening, ended]);
    await work();
    if (load.exitCode !== null) throw new Error(`the load ended before the work:\n${said.join('\n')}`);
    const [code] = (await ended) as [number | null];
    if (code !== 0) throw new Error(`the load found fault:\n${said.join('\n')}`);
  } finally {
    load.kill('SIGKILL');
    await ended;
    await rm(out, { recursive: true, force: true });
  }
}

/** More rollouts than there is time for; each needs a pod of its own, so they are short, and few at once. */
const orders = (seconds: number, out: string): readonly string[] => [
  '--all-scored',
  '--environment=counting',
  '--rollouts=2000',
  '--at-once=24',
  '--calls=6',
  '--think=0.3',
  '--speed=20',
  '--new-connections=0.5',
  `--minutes=${seconds / 60}`,
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
