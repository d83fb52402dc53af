import { readFileSync } from 'node:fs';

/**
 * One process in the life of this machine. A pid alone is used again by other programs; with the time at which it was
 * started (clock ticks since boot, field 22 of /proc/PID/stat) and the boot it belongs to, it is never mistaken.
 */
export type ProcessIdentity = { readonly pid: number; readonly startTicks: number; readonly bootId: string };

/** Null when there is no such process; a zombie has ended and counts as none. */
export function identifyProcess(pid: number): ProcessIdentity | null {
  const stat = readOrNull(`/proc/${pid}/stat`);
  if (stat === null) return null;
  // The second field is the program's name in brackets, which may itself hold spaces and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, startTicks] = [fields[0], fields[19]];
  if (state === 'Z' || state === 'X' || startTicks === undefined) return null;
  return { pid, startTicks: Number(startTicks), bootId: bootId() };
}

export function isAlive(identity: ProcessIdentity): boolean {
  const now = identifyProcess(identity.pid);
  return now !== null && now.startTicks === identity.startTicks && now.bootId === identity.bootId;
}

/** From a record file; null for text that is no identity (a write that a crash cut short). */
export function parseIdentity(text: string): ProcessIdentity | null {
  try {
    const { pid, startTicks, bootId } = JSON.parse(text) as Partial<ProcessIdentity>;
    const whole = Number.isInteger(pid) && Number.isInteger(startTicks) && typeof bootId === 'string';
    return whole ? ({ pid, startTicks, bootId } as ProcessIdentity) : null;
  } catch {
    return null;
  }
}

const bootId = (): string => readOrNull('/proc/sys/kernel/random/boot_id')?.trim() ?? 'unknown';

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
