import type { Evidence } from '#src/failure/failure.ts';
import type { FailureCode } from '#src/failure/codes.ts';
import type { BootId, EnvironmentName, EnvironmentVersion, RunId, TenantId } from '#src/model/ids.ts';
import type { RolloutRecord } from './records.ts';
import type { Grant, WakeUp } from './wake-ups.ts';
import type { TemplateChoice } from '#src/model/template-choice.ts';
import type { Owner, RolloutKey } from '#src/model/rollout.ts';
import type { Opening } from '#src/protocol/rollout/fields.ts';

/** What it says of the rollout is kept as the first claim says it. */
export type ClaimRequest = Opening & {
  readonly owner: Owner;
  /** Canonical JSON of the dataset row, kept for setup and grading; null keeps what is there. */
  readonly item: string | null;
  /** Where a row made the template: controllers are told of it before anybody waits for it, in a script of its own. */
  readonly chosen?: TemplateChoice;
  /** Opens the record without a sandbox or a place in line; one that is open stays as it is. */
  readonly recordOnly?: boolean;
  /** Of a grader's sandbox: the turn of grading that it is for; refused as `grader_failed` once that is over. */
  readonly turn?: number;
};

export type ClaimReply =
  /** It has a sandbox: claimed (bind it) or active (use it). Also answered for a rollout in `grading`. */
  | { readonly kind: 'held'; readonly rollout: RolloutRecord }
  /** It stands in line, or has a record only; `ahead` rollouts of its template stand before it. `failing`: the starts of its template. */
  | {
      readonly kind: 'waiting';
      readonly rollout: RolloutRecord;
      readonly ahead: number;
      readonly failing?: FailingStarts;
    }
  /** Tainted, closed, expired, or of another environment: `code` says which. `rollout` null: there is no record (line_full, run_closed). */
  | { readonly kind: 'refused'; readonly code: FailureCode; readonly rollout: RolloutRecord | null };

/** A start that failed: `alike` in a row did with this code, for the same reason. */
export type StartFailure = {
  readonly code: FailureCode;
  readonly message: string;
  readonly alike: number;
};

/**
 * Starts of a template that fail alike, three or more in a row, for a reason that no other sandbox of it escapes. `beganMs`:
 * when the last of them began. One success ends it.
 */
export type FailingStarts = StartFailure & { readonly beganMs: number };

/** Where a waiting rollout stands, and the last start of its template that failed since one succeeded. */
export type PlaceInLine = {
  readonly ahead: number;
  readonly lastFailure: (StartFailure & { readonly atMs: number }) | null;
};

/**
 * Claiming: rollouts, their sandboxes and the waiting line. Every method is one Redis script, one round trip.
 * Errors of every fleet port: `Failure` with `state_unavailable` (Redis does not answer) or `recovering` (it is
 * another Redis than the fleet's, see docs/decisions/redis-may-forget.md).
 */
export interface ClaimStore {
  /** Creates the rollout at its first call; grants a warm sandbox at once if one is ready and nobody stands before it. */
  claim(request: ClaimRequest): Promise<ClaimReply>;
  /** The rollout without creating or claiming anything; newest attempt when `attempt` is null. */
  find(owner: Omit<Owner, 'attempt'>, attempt: number | null): Promise<RolloutRecord | null>;
  /** The dataset row of an open rollout, canonical JSON; null where it has none, or Redis has forgotten it. */
  row(key: RolloutKey): Promise<string | null>;
  /**
   * "Still here" for all of this gateway's waiters in one script, which also grants what can be granted. Returns those who
   * do not just wait any more and are to claim again: granted, refused, or forgotten; or the starts of their template fail alike.
   */
  renew(keys: readonly RolloutKey[]): Promise<ReadonlySet<RolloutKey>>;
  /** Why the rollout still waits; null: it does not wait, or is not known. Changes nothing. */
  place(key: RolloutKey): Promise<PlaceInLine | null>;
  /**
   * Its sandbox would not take it: give it up and stand at the head of the line. Compare-and-set on `generation`,
   * and only while no call was dispatched; a loser gets the current state like everybody else, and
   * so does one whose template has had too many of late.
   */
  swap(key: RolloutKey, generation: number, reason: string, evidence: Evidence): Promise<ClaimReply>;
  /** Which version a run uses: the first asker pins it. */
  pinVersion(
    tenant: TenantId,
    run: RunId,
    environment: EnvironmentName,
    newest: EnvironmentVersion,
  ): Promise<EnvironmentVersion>;
  /** The waiting rollout with the sandbox of a wake-up; null if the grant is not newer than the record. */
  granted(waiting: RolloutRecord, grant: Grant): RolloutRecord | null;
  /** Calls the listener with what happened to which rollout. Returns how to stop. */
  onWake(listener: (key: RolloutKey, wakeUp: WakeUp) => void): () => void;
}

/** `idsApart`: what was bound there said at its bind that commands have another id than sandboxd. */
export type ActivationStamp = {
  readonly generation: number;
  readonly boot: BootId;
  readonly idsApart?: boolean;
};
