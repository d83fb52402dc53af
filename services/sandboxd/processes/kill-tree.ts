import type { Leader } from './leaders.ts';
import { readProcessTable, readUid } from './process-table.ts';
import type { ProcessRow } from './process-table.ts';
import { signalGroup } from './signals.ts';
import { stopAndKill } from './stop-and-kill.ts';
import { treeOf } from './tree.ts';

/** Asks the whole tree to end. Returns its members by pid, so that one that loses its parent now is still known later. */
export function terminateTree(leader: number): ReadonlySet<number> {
  const members = treeOf(leader, readProcessTable());
  for (const group of new Set([leader, ...members.map((row) => row.group)])) signalGroup(group, 'SIGTERM');
  return new Set(members.map((row) => row.pid));
}

/** Kills a command's whole tree; members come from an earlier {@link terminateTree}, if there was one. */
export async function killTree(leader: number, known: ReadonlySet<number> = new Set()): Promise<void> {
  // One step for the usual case, where all of it is one group: nothing in it can fork between two looks.
  signalGroup(leader, 'SIGSTOP');
  const members = new Set(known);
  await stopAndKill(() => {
    const rows = treeOf(leader, readProcessTable(), members);
    for (const row of rows) members.add(row.pid);
    return rows;
  });
}

export function isTreeAlive(leader: number, known: ReadonlySet<number>): boolean {
  return treeOf(leader, readProcessTable(), known).length > 0;
}

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
