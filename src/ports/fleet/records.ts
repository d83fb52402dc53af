import type { FailureCode, LossCause } from '#src/failure/codes.ts';
import type { Evidence } from '#src/failure/failure.ts';
import type { Face } from '#src/model/face.ts';
import type {
  CallId,
  EnvironmentName,
  EnvironmentVersion,
  ItemKey,
  SandboxId,
  TemplateDigest,
} from '#src/model/ids.ts';
import type { Admitted, Outcome } from '#src/model/outcome.ts';
import type {
  Epoch,
  Owner,
  RolloutKey,
  RolloutState,
  RolloutTags,
  SandboxAddress,
} from '#src/model/rollout.ts';

/** Why a rollout can never be scored. */
export type Taint = {
  readonly code: FailureCode;
  readonly cause: LossCause | null;
  readonly evidence: Evidence;
  readonly atMs: number;
};

/**
 * A rollout as fleet state has it. Times are Redis' own clock, milliseconds; null = not yet. Of one that is over, 40 minutes
 * after its end, its line is left: without where and when it ran, its evidence and its longer tags. What it has come to stays.
 */
export type RolloutRecord = {
  readonly key: RolloutKey;
  readonly owner: Owner;
  readonly state: RolloutState;
  readonly face: Face;
  readonly environment: EnvironmentName;
  readonly version: EnvironmentVersion;
  readonly template: TemplateDigest;
  readonly itemKey: ItemKey;
  readonly wave: number;
  readonly tags: RolloutTags;
  /** A call brought a dataset row, kept beside the record until the rollout is over; see `claiming/dataset-row.ts`. */
  readonly hadRow: boolean;
  /** Raised by every grant and swap: who holds an older one must re-read. */
  readonly generation: number;
  readonly epoch: Epoch | null;
  readonly address: SandboxAddress | null;
  readonly launchType: 'warm' | 'cold' | null;
  readonly taint: Taint | null;
  /** The policy broke its own sandbox; later calls answer 200 with this reason. */
  readonly broken: string | null;
  /** Distinct tool calls counted against the budget. */
  readonly calls: number;
  readonly inFlight: number;
  readonly placedAtMs: number;
  readonly claimedAtMs: number | null;
  readonly activeAtMs: number | null;
  readonly closedAtMs: number | null;
  readonly leaseUntilMs: number;
  readonly score: number | null;
  /** The code by which it can never be scored, with or without a taint. */
  readonly discard: FailureCode | null;
  /** The trainer ran a command or wrote a file here itself, so what runs may be anybody's, the policy's too. */
  readonly trainerActed: boolean;
  /** Why it closed: finished, deleted, scored, superseded, run closed, idle, hard life. */
  readonly closedBy: string | null;
};

/** One settled or running call in summary, at most 200 bytes in Redis. */
export type CallSummary = {
  readonly call: CallId;
  readonly tool: string;
  readonly state: 'dispatched' | 'settled';
  readonly outcome: Outcome | null;
  /** Failure code or model failure where the outcome has one. */
  readonly code: string | null;
  readonly admitted: Admitted;
  readonly exitCode: number | null;
  readonly startedAtMs: number;
  readonly durationMs: number | null;
  readonly waitedMs: number;
  readonly outputBytes: number;
  readonly sandbox: SandboxId | null;
};
