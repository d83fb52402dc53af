/** What a code or cause says to the people who meet it. Markdown; docs/failures.md is made of these sentences. */
export type Meaning = {
  /** What has happened. */
  readonly means: string;
  /** What is observed, and where: fields of the error's `evidence`, metrics, logs. */
  readonly evidence: string;
  /** What the operator does about it. If it is another person's task, the text names their role. */
  readonly operator: string;
};
