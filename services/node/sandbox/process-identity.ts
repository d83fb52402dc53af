import { readFile } from 'node:fs/promises';

/** A process that cannot be mistaken for a later one with the same pid. */
export type ProcessIdentity = {
  readonly pid: number;
  /** Clock ticks from boot to its start, field 22 of /proc/PID/stat. */
  readonly startTicks: number;
};

/** Null when there is no such process. */
export async function identify(pid: number): Promise<ProcessIdentity | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  const startTicks = stat === null ? null : startTicksIn(stat);
  return startTicks === null ? null : { pid, startTicks };
}

/** Field 22; counted from the last `)`, because field 2, the program's name, may hold anything. Null for a zombie. */
export function startTicksIn(stat: string): number | null {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ticks = Number(fields[22 - 3]);
  return fields[0] === 'Z' || !Number.isInteger(ticks) ? null : ticks;
}

export async function isAlive(process: ProcessIdentity): Promise<boolean> {
  return (await identify(process.pid))?.startTicks === process.startTicks;
}

/** SIGKILL, but never to another process that has its pid by now. */
export async function killProcess(target: ProcessIdentity): Promise<void> {
  if (!(await isAlive(target))) return;
  try {
    process.kill(target.pid, 'SIGKILL');
  } catch {
    // It ended in between.
  }
}
