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

/** One sandbox's control group, in every hierarchy that is mounted here. */
export type Group = {
  /** A process joins by writing its pid into each of these. */
  readonly joinFiles: readonly string[];
  /** The kernel's own account of its memory; null where memory is not controlled. */
  readonly memory: MemoryFiles | null;
  /** Processes in the group, as pids of this node. */
  members(): readonly number[];
  /** Waits a moment for dying members, then removes it. Idempotent. Throws what the kernel says if members stay. */
  remove(): Promise<void>;
};

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
