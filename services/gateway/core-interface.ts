import type { Failure } from '#src/failure/failure.ts';
import type { Environment } from '#src/model/environment.ts';
import type { Item } from '#src/model/grader.ts';
import type { CallId, ItemKey, RolloutId } from '#src/model/ids.ts';
import type { Requirements, TaskDigest, UnmetRequirement } from '#src/model/requirements.ts';
import type { RolloutTags } from '#src/model/rollout.ts';
import type { Written } from '#src/model/written.ts';
import type { Exec, ToolCall } from '#src/calls/plan-call.ts';
import type { Progress } from '#src/calls/follow-call.ts';
import type { StdinPiece } from '#src/calls/give-stdin.ts';
import type { CallResult } from '#src/calls/work.ts';
import type { Caller, RolloutRef } from '#src/claiming/resolve-rollout.ts';
import type { EnvironmentReference } from '#src/claiming/pinned-environments.ts';
import type { Cancelled } from '#src/calls/cancel.ts';
import type { Prewarm, Prewarmed } from '#src/claiming/prewarm.ts';
import type { Grade } from '#src/grading/job.ts';
import type { PlaceInLine } from '#src/ports/fleet/claims.ts';
import type { ControlReply, Standing } from '#src/ports/fleet/controls.ts';
import type { CallSummary, RolloutRecord } from '#src/ports/fleet/records.ts';
import type { Verdict } from '#src/failure/verdict.ts';
import type { FileIn, FileOut } from '#src/ports/sandbox-link.ts';
import type {
  FileReply,
  OutputStream,
  ScreenReply,
  StdinReply,
  StreamOffsets,
} from '#src/protocol/sandboxd/wire.ts';

export type { CallResult, Caller, Grade, Progress, RolloutRef };

/** `name` or `name@version`; the core pins a version for the run. */
export type EnvironmentRef = EnvironmentReference;

export type OpenRequest = {
  readonly rollout: RolloutId;
  readonly attempt: number;
  readonly environment: EnvironmentRef;
  readonly item: Item | null;
  /** Which rollouts are compared with each other; null: those of the same item. */
  readonly group: ItemKey | null;
  readonly tags: RolloutTags;
  /** What its task demands; null: nothing that the environment does not say itself. */
  readonly requirements: Requirements | null;
};

/** A task in an environment, and the process that plays its controls or waits for them. */
export type ControlOf = {
  readonly environment: EnvironmentRef;
  readonly task: TaskDigest;
  readonly holder: string;
};

export type ToolCallRequest = ToolCall & {
  readonly rollout: RolloutRef;
  /** Given on the RFT face, where a first call opens the rollout; null on the native face, where it must be open. */
  readonly open: { readonly environment: EnvironmentRef; readonly item: Item | null } | null;
  /** How long this request may be held; the work itself goes on. */
  readonly waitMs: number;
};

export type ExecRequest = Exec & { readonly rollout: RolloutRef; readonly waitMs: number };

export type GradeRequest = {
  readonly rollout: RolloutRef;
  readonly open: { readonly environment: EnvironmentRef; readonly item: Item | null } | null;
  /** What the platform says of the rollout; `output_tools` is checked against our own record. */
  readonly sample: Written;
  readonly waitMs: number;
};

export type GradeResult = Grade;

export type RolloutView = {
  readonly record: RolloutRecord;
  readonly verdict: Verdict;
  readonly calls: readonly CallSummary[];
  readonly ahead: number | null;
  /** Why it still waits, where it does; only `view` looks. */
  readonly place?: PlaceInLine;
};

/**
 * What all faces are a thin skin of. Every method throws only `Failure`; a tool call that was answered (whatever the
 * model did wrong) resolves. `still_running` is a Failure too: the request's time is up, the work goes on.
 */
export interface GatewayCore {
  open(
    caller: Caller,
    request: OpenRequest,
  ): Promise<{ readonly view: RolloutView; readonly created: boolean }>;
  /** Announces a burst of rollouts, so that their sandboxes are ready. */
  prewarm(caller: Caller, request: Prewarm): Promise<Prewarmed>;
  toolCall(caller: Caller, request: ToolCallRequest): Promise<CallResult>;
  exec(caller: Caller, request: ExecRequest): Promise<CallResult>;
  /** Sends a command that streams. Resolves as soon as it was sent; what comes of it is followed. */
  begin(caller: Caller, request: ExecRequest): Promise<void>;
  attach(caller: Caller, rollout: RolloutRef, call: CallId, waitMs: number): Promise<CallResult>;
  /** What a call prints beyond `from`, as it prints it, and its result. What attaching throws is thrown among it. */
  follow(
    caller: Caller,
    rollout: RolloutRef,
    call: CallId,
    asked: { readonly from: StreamOffsets; readonly waitMs: number; readonly gone: AbortSignal },
  ): Promise<AsyncIterable<Progress>>;
  /** Gives a command that was sent with an open stdin a piece of it. */
  giveStdin(
    caller: Caller,
    rollout: RolloutRef,
    call: CallId,
    piece: StdinPiece,
    waitMs: number,
  ): Promise<StdinReply>;
  /** What a terminal shows to an operator; null: the one that was opened last. It changes nothing of the rollout. */
  screen(caller: Caller, rollout: RolloutRef, terminal: number | null): Promise<ScreenReply>;
  /** A stream of a settled call of which more is kept than its result has; null: the policy broke the sandbox that kept it. */
  output(
    caller: Caller,
    rollout: RolloutRef,
    call: CallId,
    stream: OutputStream,
  ): Promise<AsyncIterable<Uint8Array> | null>;
  /** A call that has not begun never will. */
  cancel(caller: Caller, rollout: RolloutRef, call: CallId): Promise<Cancelled>;
  grade(caller: Caller, request: GradeRequest): Promise<GradeResult>;
  putFile(
    caller: Caller,
    rollout: RolloutRef,
    to: FileIn,
    body: AsyncIterable<Uint8Array>,
    /** Marked as set-up. */
    setup?: boolean,
  ): Promise<FileReply>;
  getFile(caller: Caller, rollout: RolloutRef, from: FileOut): Promise<AsyncIterable<Uint8Array>>;
  view(caller: Caller, rollout: RolloutRef): Promise<RolloutView>;
  heartbeat(caller: Caller, rollout: RolloutRef): Promise<RolloutView>;
  /** Finishes with a score of the trainer's own, for an environment without a grader; the same again is idempotent. */
  finish(caller: Caller, rollout: RolloutRef, score: number, waitMs: number): Promise<RolloutView>;
  /** Ends a rollout whose task cannot run here: discarded as `requirements_unmet`, unless it has a score or a discard. */
  refuse(caller: Caller, rollout: RolloutRef, unmet: UnmetRequirement): Promise<RolloutView>;
  /** Takes a rollout out of its run; see `src/lifecycle/voids.ts`. */
  void(caller: Caller, rollout: RolloutRef, reason: string): Promise<RolloutView>;
  /** A task's standing, or the lease to find it. */
  askControl(
    caller: Caller,
    of: ControlOf,
    options: { readonly leaseMs: number; readonly again: boolean },
  ): Promise<ControlReply>;
  /** Records what the controls showed; null: nothing that is evidence. */
  concludeControl(caller: Caller, of: ControlOf, found: Standing | null): Promise<ControlReply>;
  /** Finish and delete; idempotent. Throws `recovering` if a request of an E2B client for this rollout may have been lost, and `waitMs` passed without a decision. */
  close(
    caller: Caller,
    rollout: RolloutRef,
    by: 'finished' | 'deleted',
    waitMs?: number,
  ): Promise<RolloutView>;
  environments(): readonly Environment[];
  /** Environment by reference, or `Failure('unknown_environment')` naming the existing ones. */
  environment(ref: EnvironmentRef): Promise<Environment>;
}

/** How the faces tell that something went wrong with a rollout in hand. */
export type FailedRequest = {
  readonly failure: Failure;
  readonly rollout: RolloutId | null;
  readonly call: CallId | null;
};
