/** `refused`: the judge works, and would not score this answer, or said no number for it. */
export type Judged =
  | { readonly kind: 'scored'; readonly score: number }
  | { readonly kind: 'refused'; readonly reason: string };

/** A judge elsewhere. Throws `Failure('grader_failed')` when it fails, or refuses the harmless answer too. */
export interface Judge {
  score(request: JudgeRequest, signal: AbortSignal): Promise<Judged>;
}

export type JudgeRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON. */
  readonly body: string;
  /** The same with an answer that a working judge scores: sent where it refuses the first, to see whose fault that is. */
  readonly control: string;
  readonly timeoutMs: number;
  readonly retries: number;
};
