import type { Leader } from './leaders.ts';
import { type ProcessRow, readProcessTable, readUid } from './process-table.ts';
import { signalGroup } from './signals.ts';
import { stopAndKill, untilReaped } from './stop-and-kill.ts';
import { treeOf } from './tree.ts';

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
