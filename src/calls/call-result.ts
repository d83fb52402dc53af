import type { CallId } from '../model/ids.ts';
import type { Outcome } from '../model/outcome.ts';
import type { Epoch } from '../model/rollout.ts';

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
  readonly truncated: { readonly stdout: boolean; readonly stderr: boolean; readonly totalBytes: number };
  readonly timedOut: boolean;
  readonly outOfMemoryKilled: boolean;
  readonly durationMs: number;
  readonly waitedMs: number;
  readonly epoch: Epoch | null;
  readonly replayed: boolean;
};

/** What is stored of a settled call, as JSON; a repeat gets the same with `replayed`. */
export type StoredResult = Omit<CallResult, 'replayed'>;
