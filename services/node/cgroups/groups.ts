import { createHash } from 'node:crypto';
import type { MemoryFiles } from '#src/platform/memory-account.ts';

/** What a template asks of the kernel for the whole sandbox, our daemon included. */
export type GroupLimits = {
  readonly memoryBytes: number;
  /** Processes and threads. */
  readonly tasks: number;
  readonly cpuMilli: number;
  /** Weight against other sandboxes when the machine is full; 1000 = one core's worth. */
  readonly cpuShareMilli: number;
};

/** A folder of a control group. `hierarchy`: where programs expect it below /sys/fs/cgroup; empty on v2, which has one tree. */
export type GroupFolder = { readonly path: string; readonly hierarchy: string };

/** One sandbox's control group, in every hierarchy that is mounted here. */
export type Group = {
  /** A process joins by writing its pid into each of these. */
  readonly joinFiles: readonly string[];
  readonly folders: readonly GroupFolder[];
  /** The kernel's own account of its memory; null where memory is not controlled. */
  readonly memory: MemoryFiles | null;
  /** The kernel's account of its processor time; null where the kernel keeps none. */
  readonly cpuTimeFile: string | null;
  /** Processes in the group, as pids of this node. */
  members(): readonly number[];
  /** Waits a moment for dying members, then removes it. Idempotent. Throws what the kernel says if members stay. */
  remove(): Promise<void>;
};

/** How the names of groups begin that are no sandbox's: programs that pull an image, build data, or ask mirrors for a sandbox. */
export const ownGroups = { image: 'image-pull-', data: 'data-', mirrors: 'mirrors-' } as const;

/** Control groups of one node: `corral/<fleet>/<sandbox>` in each hierarchy. */
export interface Groups {
  /** Which interface of the kernel serves; `none` when it offers nothing that we may use. */
  readonly version: 'v1' | 'v2' | 'none';
  /** Where the groups of this node are, in a hierarchy that has all of them; null where there are none. */
  readonly folder: string | null;
  /** What cannot be enforced here, in sentences for a person. */
  readonly limitations: readonly string[];
  create(sandbox: string, limits: GroupLimits): Promise<Group>;
  /** The group by name, also of an earlier life of this node. */
  open(sandbox: string): Group;
  /** Names of all groups that exist. */
  list(): Promise<readonly string[]>;
  /** Removes the folders above the groups, as far as they are empty. */
  close(): Promise<void>;
}

/** A file of the kernel's and what is written into it. */
export type Setting = { readonly file: string; readonly value: string };

/** One mounted hierarchy: `base` is the folder in which groups are made. */
export type Hierarchy = {
  readonly base: string;
  readonly settings: (limits: GroupLimits) => readonly Setting[];
};

/** Everything that differs between cgroup v1, v2 and no cgroups at all. */
export type GroupLayout = {
  readonly version: 'v1' | 'v2' | 'none';
  readonly hierarchies: readonly Hierarchy[];
  /** Where kills for memory are counted, in a line `oom_kill N` of a file in a group below `base`. */
  readonly memoryKills: { readonly base: string; readonly file: string } | null;
  /** Where processor time is counted, in a file of a group below `base`. */
  readonly cpuTime: { readonly base: string; readonly file: string } | null;
  readonly limitations: readonly string[];
};

export const noGroups: GroupLayout = {
  version: 'none',
  hierarchies: [],
  memoryKills: null,
  cpuTime: null,
  limitations: [
    'No control group can be written on this host: memory, process and CPU limits are not enforced, and kills for memory cannot be told from other kills.',
  ],
};

/** Period over which CPU time is counted, the kernel's default; a limit is a share of it. */
const cpuPeriodUs = 100_000;

/** The kernel refuses a quota below 1 ms a period. */
const leastQuotaUs = 1000;

export const cpuQuotaUs = (cpuMilli: number) =>
  Math.max(leastQuotaUs, Math.round((cpuMilli * cpuPeriodUs) / 1000));

export const cpuPeriod = String(cpuPeriodUs);

/** v1 weight: 1024 is one core's worth, 2 the least the kernel takes. */
export const cpuShares = (shareMilli: number) =>
  Math.min(262_144, Math.max(2, Math.round((shareMilli * 1024) / 1000)));

/** v2 weight: 100 is the default and stands for one core's worth, 1 to 10,000 is what the kernel takes. */
export const cpuWeight = (shareMilli: number) => Math.min(10_000, Math.max(1, Math.round(shareMilli / 10)));

/** The folder of a node's groups. Two nodes of one machine, a test's and a person's, never take each other's for orphans. */
export function groupName(fleet: string, stateFolder: string): string {
  return `${fleet}-${createHash('sha256').update(stateFolder).digest('hex').slice(0, 8)}`;
}
