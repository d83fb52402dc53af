import type { Amounts } from './amounts.ts';

/** What a task demands of where it runs, as its own file says it; what the file leaves out is no demand. */
export type Requirements = {
  readonly sandbox: SandboxRequirements | null;
  readonly amounts?: Amounts;
  readonly network?: 'public' | 'none';
  /** How many containers the task has. */
  readonly services?: number;
  /** The longest that one command of the task may take: its agent's, its verifier's. */
  readonly commandTimeoutMs?: number;
  /** sha256 of all that defines the task; its standing says whether its own solution was seen to work here. */
  readonly task?: TaskDigest;
};

/** The part that only a sandbox can show; kept with the rollout until its first call. */
export type SandboxRequirements = {
  /** Absolute; absent: the image's. */
  readonly workdir?: string;
  readonly workdirAccess?: 'read_write' | 'read_only';
  /** Writable folders beside it; one that is absent must be one that commands can create. */
  readonly folders?: readonly string[];
  /** By name or number. */
  readonly user?: string;
};

declare const taskBrand: unique symbol;
export type TaskDigest = string & { readonly [taskBrand]: true };

/** Throws `RangeError` if the text is no sha256 in hex. */
export function taskDigest(text: string): TaskDigest {
  if (!/^[0-9a-f]{64}$/.test(text)) throw new RangeError(`"${text}" is not a sha256 in hex`);
  return text as TaskDigest;
}

export const requirementNames = [
  'workdir',
  'folder',
  'user',
  'memory',
  'cpu',
  'disk',
  'shm',
  'network',
  'services',
  'timeout',
  'image',
  'gpu',
  'platform',
  'health_check',
  'reward',
] as const;
export type RequirementName = (typeof requirementNames)[number];

/** A demand that is not met here, in words for the person who can change it. */
export type UnmetRequirement = {
  readonly requirement: RequirementName;
  readonly wanted: string;
  readonly given: string;
  /** Which line to change, and how. */
  readonly fix: string;
};
