/** What a code or cause says to the people who meet it. Markdown; docs/failures.md is made of these sentences. */
export type Meaning = {
  /** What has happened. */
  readonly means: string;
  /** What was seen, and where: fields of the error's `evidence`, metrics, logs. */
  readonly evidence: string;
  /** What the operator does about it; named is whoever has to do it instead. */
  readonly operator: string;
};
