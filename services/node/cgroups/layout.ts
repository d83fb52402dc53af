import type { GroupLimits } from './groups.ts';

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
  readonly limitations: readonly string[];
};

export const noGroups: GroupLayout = {
  version: 'none',
  hierarchies: [],
  memoryKills: null,
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
