import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';

/**
 * Whom the kernel killed because the machine had no memory left, by the kernel's own log. A group's counters cannot always
 * tell that from the group's own want, and they are read only when a call ends; the log has it at once, and whose process
 * it was. Two lines speak of one kill:
 *
 *   oom-kill:constraint=…,global_oom,task_memcg=/…,task=NAME,pid=N,uid=N           the machine
 *   oom-kill:constraint=…,oom_memcg=/a,task_memcg=/a/b,task=NAME,pid=N,uid=N       a group above the process's own
 *   Out of memory: Killed process N (NAME) total-vm:…, UID:N pgtables:…            the machine
 *   Memory cgroup out of memory: Killed process …                                  some group; the line before says which
 *
 * The first is left out when many come at once. Source: `mm/oom_kill.c`, `mm/memcontrol.c` (mem_cgroup_print_oom_context) of
 * Linux 4.19 to 6.18.
 *
 * The policy writes into this log: the kernel prints the names of its processes (15 bytes) and of its mapped files (any text)
 * when they crash. So a line counts only if all of it has the killer's format, from its first byte to its last; and the log is
 * not the only witness: the counter of the group that lost a process must have moved, too, if it has one (sandboxes.ts).
 */
export type KernelKills = {
  /** Users, as ids of this host, of the processes killed since the last question. */
  next(): readonly number[];
  close(): void;
};

/** The id in a line that tells of a kill for the machine, or for a group above the process's own; null in any other. */
export function killedForMachine(line: string): number | null {
  const { uid, lacking, own } = (killed.exec(line) ?? context.exec(line))?.groups ?? {};
  if (uid === undefined || (lacking !== undefined && lacking === own)) return null;
  return Number(uid);
}

/** The name of a process, 15 bytes, of which the log escapes some as `\x0a`, may be anything; the numbers around it may not. */
const killed =
  /^Out of memory(?: \(oom_kill_allocating_task\))?: Killed process \d{1,10} \(.{0,60}\) total-vm:\d{1,20}kB, anon-rss:\d{1,20}kB, file-rss:\d{1,20}kB, shmem-rss:\d{1,20}kB, UID:(?<uid>\d{1,10}) pgtables:\d{1,20}kB oom_score_adj:-?\d{1,4}$/u;
/** Groups are named by the fleet: no sandbox can make one. */
const context =
  /^oom-kill:constraint=CONSTRAINT_[A-Z_]{1,32},nodemask=(?:\(null\)|[\d,-]{0,256}),cpuset=[^,]{1,256},mems_allowed=[\d,-]{0,256},(?:global_oom|oom_memcg=(?<lacking>[^,]{1,256})),task_memcg=(?<own>[^,]{1,256}),task=.{0,60},pid=\d{1,10},uid=(?<uid>\d{1,10})$/u;

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

/**
 * One read gives one record, `PREFIX,NUMBER,TIME,FLAGS;TEXT`, and perhaps lines of more about it. The prefix is a level below 8
 * for what the kernel says itself; any program that writes into the log gets a larger one (Documentation/ABI/testing/dev-kmsg).
 */
function records(log: number, buffer: Buffer): string[] {
  const lines: string[] = [];
  for (;;) {
    try {
      const length = readSync(log, buffer);
      if (length === 0) return lines;
      const [first = ''] = buffer.toString('latin1', 0, length).split('\n');
      if (Number.parseInt(first, 10) < 8) lines.push(first.slice(first.indexOf(';') + 1));
    } catch (thrown) {
      // Overwritten before it was read: the next is there. Anything else, EAGAIN first of all: there is none.
      if (!(thrown instanceof Error && 'code' in thrown && thrown.code === 'EPIPE')) return lines;
    }
  }
}
