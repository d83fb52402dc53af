import { readdirSync, readFileSync } from 'node:fs';

/** One process as /proc shows it. `startTicks` tells a process from a later one with the same pid. */
export type ProcessRow = {
  readonly pid: number;
  readonly state: string;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly threads: number;
  readonly startTicks: number;
};

/**
 * All living processes; zombies are left out, since they only wait for pid 1 (bubblewrap's init, or a pod's pause
 * process) to reap them. One whose first thread has ended looks like a zombie while its other threads run: it lives.
 *
 * Synchronous on purpose: /proc is memory, a row costs about 15 µs, and sandboxd must not depend on a thread pool
 * while a fork bomb has used up every thread the sandbox may have.
 */
export function readProcessTable(): readonly ProcessRow[] {
  const rows: ProcessRow[] = [];
  for (const pid of listPids()) {
    const row = readProcess(pid);
    if (row !== null && isAlive(row)) rows.push(row);
  }
  return rows;
}

/**
 * Whether a process of this user may be alive. One that went between the list and the look counts: it may have been the
 * user's, and have left a child that came too late for the list.
 */
export function mayLive(uid: number): boolean {
  return listPids().some((pid) => {
    const owner = readUid(pid);
    if (owner !== null && owner !== uid) return false;
    const row = readProcess(pid);
    return row === null || isAlive(row);
  });
}

const listPids = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

export function isAlive({ state, threads }: ProcessRow): boolean {
  return (state !== 'Z' && state !== 'X') || threads > 1;
}

export function readProcess(pid: number): ProcessRow | null {
  const stat = readOrNull(`/proc/${pid}/stat`);
  return stat === null ? null : parseStat(stat);
}

/** The real user id, from the status file: the owner of /proc/pid would be root for a process that hides its memory. */
export function readUid(pid: number): number | null {
  const uid = /^Uid:\t(\d+)/m.exec(readOrNull(`/proc/${pid}/status`) ?? '')?.[1];
  return uid === undefined ? null : Number(uid);
}

/** A line of /proc/pid/stat. The program's name, in parentheses, may itself hold spaces and parentheses. */
export function parseStat(stat: string): ProcessRow | null {
  const nameEnd = stat.lastIndexOf(')');
  const fields = stat.slice(nameEnd + 2).split(' ');
  const [state, parent, group, session] = fields;
  // Fields 20 and 22 of the line; the fields here begin with the third.
  const threads = fields[17];
  const startTicks = fields[19];
  if (nameEnd < 0 || state === undefined || startTicks === undefined) return null;
  return {
    pid: Number.parseInt(stat, 10),
    state,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    threads: Number(threads),
    startTicks: Number(startTicks),
  };
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return null; // It ended between the listing and the look.
  }
}

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

export const hasProcessOf = (uid: number): boolean =>
  readProcessTable().some(({ pid }) => readUid(pid) === uid);
