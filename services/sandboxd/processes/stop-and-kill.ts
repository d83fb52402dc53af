import { setTimeout as sleep } from 'node:timers/promises';
import { type ProcessRow, readProcess } from './process-table.ts';
import { signalProcess } from './signals.ts';

/** A round stops what the one before did not see; a tree that still grows after so many is bounded by its pids limit. */
const stopRounds = 20;
/** Of one command's tree. Killed processes vanish within milliseconds; one in uninterruptible sleep does not, and is reported. */
const treeVanishesWithinMs = 500;
const lookEveryMs = 10;
/** Milliseconds for hundreds of them; longer where the machine is busy, and nobody waits for it then. */
const reapedWithinMs = 500;

/**
 * Kills every process that `find` finds: all are stopped first, round after round until none is new, so that nothing
 * forks while we walk. Resolves with those killed and those still alive afterwards.
 */
export async function stopAndKill(
  find: () => readonly ProcessRow[],
  vanishWithinMs = treeVanishesWithinMs,
): Promise<{ readonly killed: number; readonly survivors: readonly ProcessRow[] }> {
  const found = stopAll(find);
  for (const row of found.values()) signalProcess(row, 'SIGKILL');
  const survivors = await waitUntilGone(find, vanishWithinMs);
  await untilReaped([...found.values()]);
  return { killed: found.size, survivors };
}

const isThere = ({ pid, startTicks }: ProcessRow) => readProcess(pid)?.startTicks === startTicks;

/** Waits a moment: a zombie takes a place of the sandbox's processes until pid 1 has reaped it, and the next command wants one. */
export async function untilReaped(rows: readonly ProcessRow[]): Promise<void> {
  for (let waitedMs = 0; waitedMs < reapedWithinMs && rows.some(isThere); waitedMs += lookEveryMs) {
    await sleep(lookEveryMs);
  }
}

function stopAll(find: () => readonly ProcessRow[]): ReadonlyMap<number, ProcessRow> {
  const stopped = new Map<number, ProcessRow>();
  for (let round = 0; round < stopRounds; round += 1) {
    const fresh = find().filter((row) => stopped.get(row.pid)?.startTicks !== row.startTicks);
    if (fresh.length === 0) break;
    for (const row of fresh) {
      signalProcess(row, 'SIGSTOP');
      stopped.set(row.pid, row);
    }
  }
  return stopped;
}

async function waitUntilGone(
  find: () => readonly ProcessRow[],
  vanishWithinMs: number,
): Promise<readonly ProcessRow[]> {
  for (let waitedMs = 0; ; waitedMs += lookEveryMs) {
    const alive = find();
    if (alive.length === 0 || waitedMs >= vanishWithinMs) return alive;
    for (const row of alive) signalProcess(row, 'SIGKILL');
    await sleep(lookEveryMs);
  }
}
