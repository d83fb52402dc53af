import { setTimeout as sleep } from 'node:timers/promises';
import type { Leader } from './leaders.ts';
import { type ProcessRow, readProcess, readProcessTable, readUid, treeOf } from './process-table.ts';

/** Asks the whole tree to end. Returns its members, so that one that loses its parent now is still known later. */
export function terminateTree(leader: number): readonly ProcessRow[] {
  const members = treeOf(leader, readProcessTable());
  for (const group of new Set([leader, ...members.map((row) => row.group)])) signalGroup(group, 'SIGTERM');
  return members;
}

/** Kills a command's whole tree; members come from an earlier {@link terminateTree}, if there was one. */
export async function killTree(leader: number, known: readonly ProcessRow[] = []): Promise<void> {
  // One step for the usual case, where all of it is one group: nothing in it can fork between two looks.
  signalGroup(leader, 'SIGSTOP');
  const members = pidsOf(known);
  await stopAndKill(() => {
    const rows = treeOf(leader, readProcessTable(), members);
    for (const row of rows) members.add(row.pid);
    return rows;
  });
  await untilReaped(known);
}

export function isTreeAlive(leader: number, known: readonly ProcessRow[]): boolean {
  return treeOf(leader, readProcessTable(), pidsOf(known)).length > 0;
}

const pidsOf = (rows: readonly ProcessRow[]) => new Set(rows.map((row) => row.pid));

/**
 * How many processes of a command are alive: in the background after its normal end, escaped after a kill. Beside the tree
 * these are orphans with the command's user id, younger than it, in a session that no other command leads. They are
 * evidence and left alone: where commands overlap, such an orphan may be another one's daemon.
 */
export function countAlive(leader: Leader, otherSessions: ReadonlySet<number>): number {
  const table = readProcessTable();
  const inTree = new Set(treeOf(leader.pid, table).map((row) => row.pid));
  const isStray = (row: ProcessRow) =>
    row.parent === 1 &&
    row.startTicks >= leader.startTicks &&
    !otherSessions.has(row.session) &&
    readUid(row.pid) === leader.uid;
  return table.filter((row) => inTree.has(row.pid) || (leader.uid !== null && isStray(row))).length;
}

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
async function untilReaped(rows: readonly ProcessRow[]): Promise<void> {
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

/** Signals exactly this process: not a later one that got its pid. Gone or not ours to signal is no error. */
export function signalProcess(row: ProcessRow, signal: NodeJS.Signals): void {
  if (readProcess(row.pid)?.startTicks === row.startTicks) send(row.pid, signal);
}

/** Signals a whole process group in one step, before any member can fork out of the way. */
function signalGroup(leader: number, signal: NodeJS.Signals): void {
  send(-leader, signal);
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal);
  } catch {
    // ESRCH: it ended meanwhile. EPERM: it changed its id; it is counted as a survivor by who looks afterwards.
  }
}
