import type { ProcessRow } from './process-table.ts';

/**
 * The processes of one command: in the session or group that its first process leads, or below a member or a process
 * known as one before. A process that left the session **and** lost its parent before anybody looked is not found.
 */
export function treeOf(
  leader: number,
  table: readonly ProcessRow[],
  known: ReadonlySet<number> = new Set(),
): readonly ProcessRow[] {
  const members = new Set([leader, ...known]);
  const joins = (row: ProcessRow) =>
    row.session === leader || row.group === leader || members.has(row.pid) || members.has(row.parent);
  let sizeBefore = 0;
  while (members.size !== sizeBefore) {
    sizeBefore = members.size;
    for (const row of table) if (joins(row)) members.add(row.pid);
  }
  return table.filter((row) => members.has(row.pid));
}

/** A process and all its ancestors. */
export function lineageOf(pid: number, table: readonly ProcessRow[]): ReadonlySet<number> {
  const parents = new Map(table.map((row) => [row.pid, row.parent]));
  const lineage = new Set<number>();
  for (
    let next: number | undefined = pid;
    next !== undefined && !lineage.has(next);
    next = parents.get(next)
  ) {
    lineage.add(next);
  }
  return lineage;
}
