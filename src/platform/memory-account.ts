import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The kernel's account of a control group's memory, at one moment. Kills alone say nothing of blame: a group's count rises
 * whoever lacked memory, the group or the machine or a group above, and what commands run is the kernel's first choice.
 */
export type MemoryAccount = {
  /** Processes of the group that were killed for memory, whoever lacked it. */
  readonly kills: number;
  /**
   * How often the group was refused memory at its own limit: `oom` in v2's `memory.events`; v1's `…failcnt`, which also
   * counts refusals that dropping page cache made good, and which newer kernels leave at 0, as 6.18 does.
   */
  readonly refusals: number;
};

/** Kills for memory in a while, and who lacked it; null where nothing was killed. */
export type MemoryKills = { readonly count: number; readonly lackedBy: 'sandbox' | 'machine' | null };

/** Where the kernel accounts for a sandbox: the file that counts kills, and whose other files stand beside it. */
export type MemoryFiles = {
  /** `memory.events`, or `memory.oom_control` of v1. */
  readonly kills: string;
  /**
   * A container of a pod: the pod has the same limit and holds a little more, the pause container, so the refusal is
   * counted there, where nothing inside can see it.
   */
  readonly limitAlsoAbove: boolean;
};

/** A container's own group is the root of the tree that it sees: version 2, then version 1. */
const containerFiles = ['/sys/fs/cgroup/memory.events', '/sys/fs/cgroup/memory/memory.oom_control'];

/** Returns the files of the sandbox that this process runs in. `known`: the file that counts kills; null looks for it. */
export function memoryFilesHere(known: string | null): MemoryFiles | null {
  if (known !== null) return { kills: known, limitAlsoAbove: false };
  const found = containerFiles.find((file) => existsSync(file));
  return found === undefined ? null : { kills: found, limitAlsoAbove: true };
}

/** Null when it cannot be read. */
export function readMemoryAccount({ kills: file }: MemoryFiles): MemoryAccount | null {
  const text = readOrEmpty(file);
  const kills = countIn(text, 'oom_kill');
  return kills === null ? null : { kills, refusals: countIn(text, 'oom') ?? refusalsOfV1(dirname(file)) };
}

/** What was killed since `before`, as of now. Null: nobody counts here. */
export function memoryKillsSince(before: MemoryAccount | null, files: MemoryFiles): MemoryKills | null {
  const now = readMemoryAccount(files);
  if (before === null || now === null) return null;
  const count = now.kills - before.kills;
  if (count <= 0) return { count: 0, lackedBy: null };
  return { count, lackedBy: reachedOwnLimit(before, now, files) ? 'sandbox' : 'machine' };
}

/** Whether the group has reached its own limit since `before`. Without an account it is false. */
export function lackedMemorySince(before: MemoryAccount | null, files: MemoryFiles): boolean {
  const now = readMemoryAccount(files);
  return before !== null && now !== null && reachedOwnLimit(before, now, files);
}

const reachedOwnLimit = (before: MemoryAccount, now: MemoryAccount, files: MemoryFiles): boolean =>
  now.refusals > before.refusals || (now.refusals === 0 && peakSaysOwn(files));

/**
 * Where refusals are not counted, only the peak is left, which page cache alone brings to the limit: it can acquit a
 * sandbox that never came near, and no other. Without a peak, as before Linux 5.19, a pod's kill is its own: nodes that
 * run short evict long before the kernel kills.
 */
function peakSaysOwn({ kills: file, limitAlsoAbove }: MemoryFiles): boolean {
  const isV1 = file.endsWith(v1File);
  if (!isV1 && !limitAlsoAbove) return false;
  const [peak, limit] = (isV1 ? v1Peak : v2Peak).map((name) => readOrEmpty(join(dirname(file), name)).trim());
  return !peak || !limit || Number(peak) >= Number(limit) - shortOf(Number(limit));
}

const v1File = 'memory.oom_control';
const v1Peak = ['memory.max_usage_in_bytes', 'memory.limit_in_bytes'];
const v2Peak = ['memory.peak', 'memory.max'];

/**
 * What a peak may fall short of the limit by: the kernel charges 64 pages at a time on each processor (4 MiB of large
 * pages), and a pod's pause holds a MiB or two. Rather too much: who stays below would be acquitted of its own doing.
 */
const shortOf = (limitBytes: number) => Math.max(2 * 1024 * 1024, limitBytes / 16);

/** The number in a line `NAME N`, as both versions write them. */
function countIn(text: string, name: 'oom' | 'oom_kill'): number | null {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? null : Number(line.slice(name.length));
}

/** Of memory with swap first, where that is limited too; each counts what the other did not refuse. */
function refusalsOfV1(folder: string): number {
  const files = ['memory.memsw.failcnt', 'memory.failcnt'];
  return files.reduce((sum, file) => sum + Number(readOrEmpty(join(folder, file))), 0);
}

/** As UTF-8, which Node reads at once; for any other it takes 64 KiB, since the kernel's files do not say how long they are. */
function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
