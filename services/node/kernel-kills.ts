import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';

/**
 * Whom the kernel killed because the machine had no memory left, by the kernel's own log. A group's counters cannot always
 * tell that from the group's own want, and they are read only when a call ends; here it stands at once, and whose process
 * it was. Two lines speak of one kill:
 *
 *   oom-kill:constraint=…,global_oom,task_memcg=/…,task=NAME,pid=N,uid=N           the machine
 *   oom-kill:constraint=…,oom_memcg=/a,task_memcg=/a/b,task=NAME,pid=N,uid=N       a group above the process's own
 *   Out of memory: Killed process N (NAME) total-vm:…, UID:N pgtables:…            the machine
 *   Memory cgroup out of memory: Killed process …                                  some group; the line before says which
 *
 * The first is left out when many come at once. NAME is the policy's to choose, 15 bytes; what is read stands before or
 * behind it. Source: `mm/oom_kill.c`, `mm/memcontrol.c` (mem_cgroup_print_oom_context) of Linux 4.19 to 6.18.
 */
export type KernelKills = {
  /** Users, as ids of this host, of the processes killed since the last question. */
  next(): readonly number[];
  close(): void;
};

/** The id in a line that tells of a kill for the machine, or for a group above the process's own; null in any other. */
export function killedForMachine(line: string): number | null {
  if (line.startsWith('Out of memory')) {
    const isKill = line.includes(': Killed process ') && line.includes(userBefore);
    return isKill ? numberAt(line, line.lastIndexOf(userBefore) + userBefore.length) : null;
  }
  if (!line.startsWith('oom-kill:constraint=')) return null;
  const [who = '', of = ''] = splitAt(line, ',task_memcg=');
  const [own = '', victim = ''] = splitAt(of, ',task=');
  if (who.slice(who.lastIndexOf(',')) === `,oom_memcg=${own}`) return null;
  return numberAt(victim, victim.lastIndexOf(',uid=') + ',uid='.length);
}

const userBefore = ', UID:';

/** Before and behind the first `mark`; empty where it is missing. */
function splitAt(text: string, mark: string): readonly string[] {
  const at = text.indexOf(mark);
  return at < 0 ? [] : [text.slice(0, at), text.slice(at + mark.length)];
}

function numberAt(text: string, at: number): number | null {
  const value = Number.parseInt(text.slice(at), 10);
  return Number.isNaN(value) ? null : value;
}

/** Longer than any record: the kernel cuts its own at 1 KiB, and escapes at most fourfold. */
const recordBytes = 8192;

/** From now on. Null where the log, or the ids in it, are not for this process to read. */
export function openKernelKills(): KernelKills | null {
  const log = isOfThisHost() ? openLog() : null;
  if (log === null) return null;
  const buffer = Buffer.alloc(recordBytes);
  const next = () => records(log, buffer).flatMap((line) => killedForMachine(line) ?? []);
  next();
  return { next, close: () => closeSync(log) };
}

/** Ids in the log are those of the first user namespace. */
function isOfThisHost(): boolean {
  try {
    const map = readFileSync('/proc/self/uid_map', 'utf8').split(' ').filter(Boolean);
    return map.map(Number).join(' ') === `0 0 ${2 ** 32 - 1}`;
  } catch {
    return false;
  }
}

function openLog(): number | null {
  try {
    return openSync('/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK);
  } catch {
    return null;
  }
}

/** One read gives one record, `LEVEL,NUMBER,TIME,FLAGS;TEXT`, and perhaps lines of more about it. */
function records(log: number, buffer: Buffer): string[] {
  const lines: string[] = [];
  for (;;) {
    try {
      const length = readSync(log, buffer);
      if (length === 0) return lines;
      const [first = ''] = buffer.toString('latin1', 0, length).split('\n');
      lines.push(first.slice(first.indexOf(';') + 1));
    } catch (thrown) {
      // Overwritten before it was read: the next is there. Anything else, EAGAIN first of all: there is none.
      if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EPIPE')) return lines;
    }
  }
}
