/** A JSON value as it comes from a dataset row. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export type Item = { readonly [key: string]: Json };

/**
 * Where a grader finds the model's answer in what the trainer sends: the last message's text (`output_text`), its
 * parsed JSON (`output_json`) or a field of that (`output_json.files`).
 */
export type AnswerPath = string;

/** Where a grader finds the truth: a path into the item, `item.files`. */
export type ReferencePath = string;

/** What a score becomes when a grader ends badly, as the policy may have made it; `discard` keeps it from the trainer. */
export type OnBad = number | 'discard';

/** How many answers count, the first ones: so many, or so many times what is expected. */
export type MostAnswers = { readonly count: number } | { readonly timesExpected: number };

/** What people write for numbers, beyond what is surely one. */
export type NumberReading = {
  /** Letters such as `m` that stand for a million, in lower case. */
  readonly magnitudes?: readonly string[];
  /** Codes such as `usd` that may stand before or behind a number, in lower case. */
  readonly currencies?: readonly string[];
};

/** What a number is worth that is not the reference's but near it. */
export type PartialCredit = {
  readonly worth: number;
  /** Relative distance. */
  readonly within: number;
  /** Whether one may be the other, rounded. */
  readonly rounding: boolean;
};

/** Calls of one tool, or of those the ones whose argument is exactly one of these texts. */
export type CallSelector = {
  readonly tool: string;
  readonly argument?: string;
  readonly is?: readonly string[];
};

/** What a `calls` grader asks of a rollout's calls. */
export type CallsQuestion =
  /** The share of the row's paths that calls of these tools named in that argument, and that ended well. */
  | {
      readonly asks: 'opened';
      readonly reference: ReferencePath;
      readonly tools: readonly { readonly tool: string; readonly argument: string }[];
      /** Of the paths that were asked for, so many count, the first ones. Left out: all. */
      readonly most?: MostAnswers;
    }
  /** Whether one of `checks` ran, from beginning to end, after the last of `edits` had ended. */
  | {
      readonly asks: 'checked';
      readonly edits: readonly CallSelector[];
      readonly checks: readonly CallSelector[];
      /** Whether a check counts only where it ends with exit code 0. */
      readonly passing: boolean;
    };

/** An answer of the author's whose worth is known: a judge that scores it otherwise cannot be believed. */
export type Canary = {
  readonly name: string;
  readonly answer: string;
  /** Its score must lie between these; null: no bound. */
  readonly atLeast: number | null;
  readonly atMost: number | null;
};

/** What a judge must score rightly before its scores count, and again after every so many grades. */
export type JudgeGuard = {
  readonly everyGrades: number;
  /** The row that all canaries answer. */
  readonly item: Item;
  readonly canaries: readonly Canary[];
};

/** Files of a sandbox by name: below the workspace, `*` stands for anything within the last name of a path. */
export type Attach = {
  readonly paths: readonly string[];
  readonly mostBytes: number;
  /** What it is worth that the policy made them too large, too many or unreadable. */
  readonly onBad: number;
};

/** So much off a score for every `per` beyond what is free. */
export type Surcharge = { readonly free: number; readonly per: number; readonly each: number };

/** A file's content: its text, or bytes that are none. */
export type FileContent = string | { readonly base64: string };

/** Hidden files of each row: what a row says in its field is a name in `folders`, and never a path. */
export type RowFiles = {
  readonly field: string;
  /** Value of the field → relative path → content. */
  readonly folders: Readonly<Record<string, Readonly<Record<string, FileContent>>>>;
};

/** What a grader in a sandbox of its own gets of the policy's. */
export type FreshGrading = {
  /**
   * Below the workspace, or absolute below another writable folder. `*` stands for anything in one name; a path without it
   * must be there.
   */
  readonly artifacts: readonly string[];
  /** Of all of them together. */
  readonly mostBytes: number;
  /** The score where they cannot be had as they are named: that is the policy's doing. */
  readonly onArtifacts: number;
  /** In place of `artifacts`, which is empty then: all that differs from the image. */
  readonly changes?: WantedChanges;
};

/** `below`: folders below the workspace, or absolute. `except`: names anywhere, or absolute paths; `*` as in artifacts. */
export type WantedChanges = {
  readonly below: readonly string[];
  readonly except: readonly string[];
  /** New, changed and removed files, folders and links together. */
  readonly mostFiles: number;
};

export type Grader =
  /** The trainer computes the score itself and brings it when it finishes the rollout. Stands alone, never as a part. */
  | { readonly kind: 'none' }
  | {
      readonly kind: 'f1' | 'recall';
      readonly answer: AnswerPath;
      readonly reference: ReferencePath;
      /** `code`: case, dots and spaces make no difference. Left out: entries with a slash are paths. */
      readonly compare?: 'code';
      /** Of `recall`. Left out: all count, and whoever answers everything is right. */
      readonly most?: MostAnswers;
      /** Of `f1`: a longer answer is none. Left out: it is only paid less. */
      readonly refuseAbove?: MostAnswers;
    }
  | {
      readonly kind: 'text';
      readonly answer: AnswerPath;
      readonly reference: ReferencePath;
      readonly match: 'exact' | 'normalised' | 'numeric';
      /** Relative tolerance of `numeric`: inside it, 1. */
      readonly tolerance: number;
      /** Relative distance up to which a near number earns a part, falling linearly to 0; equal to tolerance = none. */
      readonly partialWithin: number;
      /** Of `numeric`. */
      readonly reading?: NumberReading;
      /** Of `numeric`, instead of the straight line of `partialWithin`. */
      readonly partial?: PartialCredit;
    }
  | {
      readonly kind: 'command';
      readonly argv: readonly string[];
      /** Placed where the policy's user cannot read: file name → text. */
      readonly files: Readonly<Record<string, string>>;
      /** Beside them the files of the dataset row; left out where there are none. */
      readonly rowFiles?: RowFiles;
      /** It works in a sandbox where the policy never was; left out where it works in the policy's own. */
      readonly fresh?: FreshGrading;
      readonly timeoutMs: number;
      readonly onExit: OnBad;
      readonly onTimeout: OnBad;
      readonly onOutOfMemory: OnBad;
      readonly onBroken: OnBad;
      /** It names `CORRAL_ROLLOUT`, where it finds the whole rollout; left out where it does not. */
      readonly readsRollout?: true;
    }
  | {
      readonly kind: 'http';
      readonly url: string;
      /** Values may be `{secret: NAME}` in YAML; here the name is kept and resolved when sent. */
      readonly headers: Readonly<Record<string, string | { readonly secret: string }>>;
      readonly timeoutMs: number;
      readonly retries: number;
      readonly onRefused: OnBad;
      /** A harmless answer that a working judge scores; asked for where it refuses another. */
      readonly control: string;
      /** The judge is sent the rollout's calls too. */
      readonly calls?: true;
      /** And these files of its sandbox. */
      readonly attach?: Attach;
      /** Left out: the judge is believed. */
      readonly guard?: JudgeGuard;
    }
  | ({ readonly kind: 'calls' } & CallsQuestion)
  /** All of `all` must give their full score first; then the score is the grader's. */
  | { readonly kind: 'gate'; readonly all: readonly Grader[]; readonly grader: Grader }
  /** The lowest score of all of them; where one gives no score, there is no score. */
  | { readonly kind: 'lowest'; readonly of: readonly Grader[] }
  | {
      readonly kind: 'weighted';
      readonly parts: readonly { readonly weight: number; readonly grader: Grader }[];
    }
  | {
      readonly kind: 'penalty';
      readonly grader: Grader;
      /** Tool calls that are free; each one beyond takes `each` off the score, never below `floor`. */
      readonly freeCalls: number;
      readonly each: number;
      readonly floor: number;
      /** Of the time that its commands ran, in milliseconds. */
      readonly time?: Surcharge;
      /** Of what its commands printed. */
      readonly bytes?: Surcharge;
    };

/**
 * What a program that grades may take beside its own timeout: killing all that lives before and after it, its files, its
 * score. One number for who waits and for who checks that there is time to wait: a turn that its limit ends before its
 * grader is done is nobody's score, and no ending that an environment has a word for.
 */
export const aroundGraderMs = 60_000;

/** What one that works where the policy never was takes besides: for the artifacts, and for a sandbox, cold where it must be. */
export const aroundFreshMs = 120_000;
