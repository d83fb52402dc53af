import type { FailureCode } from '#src/failure/codes.ts';
import type { Discarded } from '#src/failure/verdict.ts';
import type { CallId, SandboxId } from '#src/model/ids.ts';
import type { Admitted, Outcome } from '#src/model/outcome.ts';
import type { Epoch, Owner, RolloutKey } from '#src/model/rollout.ts';
import type { PlainFields } from '#src/protocol/rollout/fields.ts';

/**
 * A rollout as fleet state has it. Times are Redis' own clock, milliseconds; null = not yet. Of one that is over, 40 minutes
 * after its end, its line is left: without where and when it ran, its evidence and its longer tags. What it has come to stays.
 * Its fields: `protocol/rollout/fields.ts`.
 */
export type RolloutRecord = PlainFields & {
  readonly key: RolloutKey;
  readonly owner: Owner;
  readonly epoch: Epoch | null;
  /** Why it can never be scored, if its verdict is `discarded`. */
  readonly discarded: Discarded | null;
  /** Why its calls and grades may not go on; null: they may. */
  readonly barred: FailureCode | null;
  readonly inFlight: number;
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
