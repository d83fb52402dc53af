/** What the trainer saw of a rollout. All times are milliseconds since the burst began. */
export type RolloutRecord = {
  /** The `trace_id` of all its calls. */
  readonly rollout: string;
  readonly task: string;
  readonly copy: number;
  readonly policy: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly calls: readonly CallRecord[];
  readonly grading: Span | null;
  readonly ending: Ending;
};

export type Span = { readonly startedMs: number; readonly endedMs: number };

export type CallRecord = Span & {
  readonly callId: string;
  readonly tool: string;
  /** Of the last try; null when the connection was lost. */
  readonly status: number | null;
  readonly retries: number;
  /** UTF-8 bytes of what the policy was shown. */
  readonly outputBytes: number;
  /** A body that was never meant for it was shown to the policy: a 4xx, or a 200 that is no function output. */
  readonly leaked: boolean;
};

export type Ending = { readonly kind: 'scored'; readonly score: number } | Discard;

/** The platform threw the rollout away: it is neither a good nor a bad example. */
export type Discard = {
  readonly kind: 'discarded';
  /** The failure code in the last 5xx body, or `connection_lost`, or `unreadable_answer`. */
  readonly code: string;
  readonly cause: string | null;
  readonly at: 'tool call' | 'grader';
  readonly message: string;
};

/** Told while the rollouts run, for the progress display and for whoever kills sandboxes. */
export type RolloutEvent = {
  readonly rollout: string;
  readonly task: string;
  readonly kind: 'call sent' | 'call answered' | 'grading' | 'scored' | 'discarded';
};
