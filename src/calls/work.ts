import { createHash } from 'node:crypto';
import type { Dependency } from '../model/dependency.ts';
import type { Environment } from '../model/environment.ts';
import { type CallId, callId } from '../model/ids.ts';
import type { ModelFailure, Outcome } from '../model/outcome.ts';
import type { Epoch, RolloutKey } from '../model/rollout.ts';
import type { ClaimRequest } from '../ports/fleet/claims.ts';
import type { KeptText } from '../ports/fleet/calls.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { CallAnswer, CallRequest, OutputStream, StreamOffsets } from '../protocol/sandboxd/wire.ts';
import { Failure } from '../failure/failure.ts';
import type { Tries } from '../waiting/retries.ts';

/**
 * A call in the words of this room, in the order in which it goes through them: `Admissible` may be admitted, `Tracked`
 * can be judged and recorded too, `Work` is ready to be carried out, `Running` is under way, and a `CallResult` is what
 * came of it.
 */

/** What must be known of a call before it may be sent to a sandbox. */
export type Admissible = {
  readonly key: RolloutKey;
  readonly claim: ClaimRequest;
  readonly environment: Environment;
  readonly call: CallId;
  readonly tool: string;
  /** sha256 (hex) of name and canonical arguments. */
  readonly digest: string;
  /** Whether this process has claimed for the rollout before, so that admission can be asked at once. */
  readonly known: boolean;
  /** The API key that asked for it, for the event log; null: nobody's request, as where a controller settles it. */
  readonly keyId: string | null;
  /** Whether the tool-call budget counts it: calls of the model, not the trainer's own commands. */
  readonly counted: boolean;
  /** Its trainer marked it as set-up, for which the policy is not: `ports/fleet/setup.ts`. */
  readonly setup: boolean;
  /** The sandboxes that its request has given up, of those that it may. */
  readonly swaps: Tries;
};

/** What must be known of a call to judge and record how it ended. */
export type Tracked = Admissible & {
  /** Whether the answer keeps stdout and stderr apart for the caller, beside the text for the model. */
  readonly keepStreams: boolean;
  /** What the tool depends on outside of its sandbox, and by which exit codes it reports its failure; null: nothing. */
  readonly dependency: Dependency | null;
  /** The tool is a query: sandboxd itself says whether its database can be read, and nothing that runs there can say so in its place. */
  readonly isQuery: boolean;
  /** For the event log: what was asked for, shortened. */
  readonly command: string;
  /** For graders that look at calls: what was asked for. Null: nobody looks, or nobody here knows. */
  readonly said: KeptText | null;
};

/** One call, ready to be carried out: checked, with everything decided that can be decided before a sandbox is known. */
export type Work = Tracked & { readonly todo: Todo };

export type Todo =
  /** The model's own failure: an answer, and nothing runs. */
  | { readonly kind: 'refuse'; readonly code: ModelFailure; readonly text: string }
  | { readonly kind: 'run'; readonly request: CallRequest };

/** A call under way in a rollout's sandbox. */
export type Running = {
  readonly work: Tracked;
  readonly rollout: RolloutRecord;
  /** The command's own timeout. */
  readonly timeoutMs: number;
  /** Time until the rollout had its sandbox; never charged to the command. */
  readonly waitedMs: number;
  /** The id of the try that sends it; null: another one has sent it, and this process only asks how it ended. */
  readonly sender: string | null;
  /** Asks sandboxd for the answer, and may be asked again: sends the call, or attaches to it. */
  readonly ask: Ask;
  /** The same of its second run: an idempotent call may run once more. */
  readonly askAgain: Ask;
};

/** The id of the second run. Callers' ids hold no space, and may be as long as an id may be. */
export const secondRunOf = (call: CallId): CallId =>
  callId(`corral again ${createHash('sha256').update(call).digest('hex')}`);

export type Ask = (waitMs: number, signal: AbortSignal) => Promise<CallAnswer | 'running'>;

/** A settled call as the native face shows it; `output` is the text for the model on every face. */
export type CallResult = {
  readonly callId: CallId;
  readonly outcome: Exclude<Outcome, 'infrastructure_failure'>;
  readonly code: string | null;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly output: string;
  readonly stdout: string;
  readonly stderr: string;
  /** Both streams as bytes, in place of the texts, if the call asked for them, and how many bytes each of them had. */
  readonly base64?: Readonly<Record<OutputStream, string>>;
  readonly totals?: StreamOffsets;
  readonly truncated: { readonly stdout: boolean; readonly stderr: boolean; readonly totalBytes: number };
  /** Bytes of each stream that its sandbox has, where that is more than stands here. */
  readonly kept?: Readonly<Record<OutputStream, number>>;
  readonly timedOut: boolean;
  readonly outOfMemoryKilled: boolean;
  readonly durationMs: number;
  readonly waitedMs: number;
  readonly epoch: Epoch | null;
  readonly replayed: boolean;
};

/** What is stored of a settled call, as JSON; a repeat gets the same with `replayed`. */
export type StoredResult = Omit<CallResult, 'replayed'>;

/** The call's id is known with other arguments: nothing ran for this request. */
export function callConflict(call: CallId): Failure {
  return new Failure('call_conflict', `call ${call} was sent before with other arguments; use a new call id`);
}
