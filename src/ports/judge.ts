/** `refused`: the judge works, and would not score this answer, or said no number for it. */
export type Judged =
  /** `said`: its reason, where it gave one; for people. */
  | { readonly kind: 'scored'; readonly score: number; readonly said?: string }
  | { readonly kind: 'refused'; readonly reason: string };

/** A judge elsewhere. Throws `Failure('grader_failed')` when it fails, or refuses the harmless answer too. */
export interface Judge {
  /** `withinMs`: how long the caller waits (`timeLimit` of `waiting/time-limit.ts` gives both). Absent: as long as the request may take. */
  score(request: JudgeRequest, signal: AbortSignal, withinMs?: number): Promise<Judged>;
}

/** For how many milliseconds this try is waited for: a judge that ends before can say what took so long. */
export const remainingHeader = 'x-corral-remaining-ms';

/** What is said without these secrets; each is named in its place. */
export const withoutSecrets = (text: string, secrets: ReadonlyMap<string, string> = new Map()): string =>
  [...secrets].reduce((said, [name, value]) => {
    if (value === '') return said;
    const instead = `[secret ${name}]`;
    // As it is, and as JSON has it.
    return said.replaceAll(value, instead).replaceAll(JSON.stringify(value).slice(1, -1), instead);
  }, text);

/** JSON in pieces: text, and bytes that stand in it as base64. */
export type JudgeBody = readonly (string | Buffer)[];

export type JudgeRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Secrets among them, by name: a judge may say back what it was sent, and then its words are passed on without. */
  readonly secrets?: ReadonlyMap<string, string>;
  readonly body: JudgeBody;
  /** The same with an answer that a working judge scores: sent where it refuses the first, to see whose fault that is. */
  readonly control: JudgeBody;
  readonly timeoutMs: number;
  readonly retries: number;
};
