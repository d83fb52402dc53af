import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import type { Group } from '../cgroups/groups.ts';

/** A process that cannot be mistaken for a later one with the same pid. */
export type ProcessIdentity = {
  readonly pid: number;
  /** Clock ticks from boot to its start, field 22 of /proc/PID/stat. */
  readonly startTicks: number;
};

/** Null when there is no such process. */
export function identify(pid: number): ProcessIdentity | null {
  const startTicks = startTicksIn(readOfProcess(pid, 'stat'));
  return startTicks === null ? null : { pid, startTicks };
}

/** Field 22; counted from the last `)`, because field 2, the program's name, may hold anything. Null for a zombie. */
export function startTicksIn(stat: string): number | null {
  const ticks = Number(fieldIn(stat, 22));
  return fieldIn(stat, 3) === 'Z' || !Number.isInteger(ticks) ? null : ticks;
}

/** By its number in `man 5 proc_pid_stat`, from 3 on. */
const fieldIn = (stat: string, number: number) =>
  stat.slice(stat.lastIndexOf(')') + 2).split(' ')[number - 3];

/** The only child of a process that has had no other yet; null where the kernel does not tell. */
export function childOf({ pid }: ProcessIdentity): ProcessIdentity | null {
  const child = Number(readOfProcess(pid, `task/${pid}/children`).trim());
  return child > 0 ? identify(child) : null;
}

/** It will not run again: a SIGKILL is on its way to it, it is on its way out, or gone. */
export function isDoomed({ pid, startTicks }: ProcessIdentity): boolean {
  const stat = readOfProcess(pid, 'stat');
  if (startTicksIn(stat) !== startTicks) return true;
  const [flags, pending] = [fieldIn(stat, 9), fieldIn(stat, 31)].map(Number);
  return ((flags ?? 0) & exiting) !== 0 || ((pending ?? 0) & killPending) !== 0;
}

/** PF_EXITING of field 9, and SIGKILL in field 31; `include/linux/sched.h`, `man 5 proc_pid_stat`. */
const exiting = 0x4;
const killPending = 1 << (constants.signals.SIGKILL - 1);

export function isAlive(process: ProcessIdentity): boolean {
  return identify(process.pid)?.startTicks === process.startTicks;
}

/** SIGKILL, but never to another process that has its pid by now. */
export function killProcess(target: ProcessIdentity): void {
  if (!isAlive(target)) return;
  try {
    process.kill(target.pid, 'SIGKILL');
  } catch {
    // It ended in between.
  }
}

/**
 * Empty when there is no such process. Files of the kernel's are memory: to have another thread read one costs ten times
 * the read, and `readFile` takes 64 KiB for each because it cannot know how long it is.
 */
function readOfProcess(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** SIGKILL to every process that is in the group now. */
export function killMembers(group: Group): void {
  for (const pid of group.members()) {
    const member = identify(pid);
    if (member !== null) killProcess(member);
  }
}
