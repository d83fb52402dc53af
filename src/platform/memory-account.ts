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
export type MemoryKills = { readonly count: number; readonly lackedBy: LackedBy | null };

/** `unknown`: the sandbox may have reached its limit, or the machine may have lacked memory. It must not count against the policy. */
export type LackedBy = 'sandbox' | 'machine' | 'unknown';

/** Whether the machine is ruled out, as in `MachineMemory.hadRoom`. */
export type RulesOutMachine = (freedBytes: number) => boolean;

/** Where the kernel accounts for a sandbox: the file that counts kills, and whose other files stand beside it. */
export type MemoryFiles = {
  /** `memory.events`, or `memory.oom_control` of v1. */
  readonly kills: string;
  /** A container of a pod, which may have the same limit and holds a little more, the pause container: it is refused first. */
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

/** What was killed since `before`, as of now. Null: there is no account here. */
export function memoryKillsSince(
  before: MemoryAccount | null,
  files: MemoryFiles,
  rulesOutMachine: RulesOutMachine,
): MemoryKills | null {
  const now = readMemoryAccount(files);
  if (before === null || now === null) return null;
  const count = now.kills - before.kills;
  if (count <= 0) return { count: 0, lackedBy: null };
  return { count, lackedBy: whoLacked(before, now, files, rulesOutMachine) };
}

/** Whether the group has certainly reached its own limit since `before`. Without an account it is false. */
export function lackedMemorySince(
  before: MemoryAccount | null,
  files: MemoryFiles,
  rulesOutMachine: RulesOutMachine,
): boolean {
  const now = readMemoryAccount(files);
  return before !== null && now !== null && whoLacked(before, now, files, rulesOutMachine) === 'sandbox';
}

/** Whether the group's counters alone may leave it open who lacked memory, so that the machine must be looked at. */
export const needsMachine = (files: MemoryFiles): boolean => isOfV1(files) || files.limitAlsoAbove;

/**
 * Only `oom` of v2 is a proof: the group was out of memory at its own limit. v1's refusals and the peak prove nothing, because page cache
 * alone brings both about (`dd` of a large file does). They can acquit a sandbox that never came near its limit. For the rest the
 * machine must be ruled out. In a pod `oom` may be counted above, where nothing inside can see it.
 */
function whoLacked(
  before: MemoryAccount,
  now: MemoryAccount,
  files: MemoryFiles,
  rulesOutMachine: RulesOutMachine,
): LackedBy {
  const wasRefused = now.refusals > before.refusals;
  if (!isOfV1(files) && wasRefused) return 'sandbox';
  if (!needsMachine(files)) return 'machine';
  if (isOfV1(files) && now.refusals > 0 && !wasRefused) return 'machine';
  const { peakBytes, limitBytes } = peakOf(files);
  if (limitBytes === null) return 'unknown';
  if (peakBytes !== null && peakBytes < limitBytes - shortOf(limitBytes)) return 'machine';
  return rulesOutMachine(limitBytes) ? 'sandbox' : 'unknown';
}

/** Null: this kernel does not keep it, as v2 before Linux 5.19 keeps no peak; or there is no limit. */
function peakOf(files: MemoryFiles): {
  readonly peakBytes: number | null;
  readonly limitBytes: number | null;
} {
  const [peak, limit] = isOfV1(files) ? v1Peak : v2Peak;
  const bytesIn = (name: string) => {
    const text = readOrEmpty(join(dirname(files.kills), name)).trim();
    return /^\d{1,20}$/u.test(text) ? Number(text) : null;
  };
  return { peakBytes: bytesIn(peak), limitBytes: bytesIn(limit) };
}

const isOfV1 = ({ kills }: MemoryFiles) => kills.endsWith(v1File);
const v1File = 'memory.oom_control';
const v1Peak = ['memory.max_usage_in_bytes', 'memory.limit_in_bytes'] as const;
const v2Peak = ['memory.peak', 'memory.max'] as const;

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
