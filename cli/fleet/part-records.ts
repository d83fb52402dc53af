import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#src/ports/clock.ts';
import { isAlive, parseIdentity, type ProcessIdentity } from './process-identity.ts';

/** One file for each part that runs, so that a fleet which died without cleaning up is found by the next one. */
export type PartRecords = {
  write(part: string, identity: ProcessIdentity): void;
  remove(part: string): void;
};

export function createPartRecords(folder: string): PartRecords {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const fileOf = (part: string) => join(folder, `${part}.json`);
  return {
    write: (part, identity) => writeFileSync(fileOf(part), JSON.stringify(identity), { mode: 0o600 }),
    remove: (part) => rmSync(fileOf(part), { force: true }),
  };
}

/** SIGKILL is not refused, but a process in the middle of disk I/O ends only when that returns. */
const deathDeadlineMs = 10_000;

/**
 * Kills what an earlier fleet on this folder left behind and removes its records; only for the holder of the lock.
 * Returns the names of the parts that were still alive.
 */
export async function removeLeftovers(folder: string, clock: Clock): Promise<readonly string[]> {
  const leftovers = readRecords(folder);
  const alive = leftovers.filter(({ identity }) => identity !== null && isAlive(identity));
  for (const { identity } of alive) if (identity !== null) killGroup(identity.pid);
  const deadline = clock.monotonicMs() + deathDeadlineMs;
  while (alive.some(({ identity }) => identity !== null && isAlive(identity))) {
    if (clock.monotonicMs() > deadline)
      throw new Error(`processes of an earlier fleet do not die: ${folder}`);
    await clock.sleep(20);
  }
  for (const { file } of leftovers) rmSync(join(folder, file), { force: true });
  return alive.map(({ file }) => file.replace(/\.json$/, ''));
}

type Leftover = { readonly file: string; readonly identity: ProcessIdentity | null };

function readRecords(folder: string): readonly Leftover[] {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return readdirSync(folder).map((file) => ({
    file,
    identity: parseIdentity(readFileSync(join(folder, file), 'utf8')),
  }));
}

/** Every part leads its own process group. */
export function killGroup(pid: number, signal: NodeJS.Signals = 'SIGKILL'): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // It ended on its own in between.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
