import type { Suspected } from '#src/failure/verdict.ts';
import type { Grader, Item, Json } from '#src/model/grader.ts';
import type { Judged } from '#src/ports/judge.ts';
import type { ToldWhy } from '#src/ports/event-log.ts';
import type { Costs, Story } from '../story.ts';

/** What the trainer sends of a rollout, chat-completions-like: `choices`, `output_text`, `output_json`, `output_tools`. */
export type Sample = { readonly [key: string]: Json };

/** What a grader of this kind is, whatever stands around it. */
export type Leaf<Kind extends Grader['kind']> = Extract<Grader, { readonly kind: Kind }>;

/** With what its program said on stderr, for a person; the policy may have had a hand in it. */
export type CommandEnd = { readonly grade: CommandGrade; readonly stderr: string };

/** How a command grader ended. What `bad` is worth is written in the environment, because the policy may have caused it. */
export type CommandGrade =
  /** `where`: of one in a sandbox of its own, for a person. */
  | { readonly kind: 'scored'; readonly score: number; readonly where?: string }
  | {
      readonly kind: 'bad';
      /** `artifacts`: what its grader elsewhere was to see is not as the environment names it. */
      readonly how: 'exit' | 'timeout' | 'out_of_memory' | 'broken' | 'artifacts';
      /** For a person: "exit code 2", "no score file". */
      readonly reason: string;
    };

/** The judge was not asked: what it was to be sent of the sandbox, the policy made so that it cannot be. */
export type Unattached = { readonly kind: 'unattached'; readonly reason: string };

/** What a grader that only compares looks at. */
export type Compared = Pick<GradingContext, 'sample' | 'item'>;

/** What a grader may look at, and the two things that it cannot do by thinking. */
export type GradingContext = {
  readonly sample: Sample;
  readonly item: Item | null;
  /** The rollout's tool calls by our own record. */
  readonly toolCalls: number;
  /** With what they said; only where `keepsCalls` says of the grader that it looks. */
  readonly story: () => Promise<Story>;
  /** The same calls by their costs alone, which are kept for every grader. */
  readonly costs: () => Promise<Costs>;
  readonly runCommand: (leaf: Leaf<'command'>) => Promise<CommandGrade>;
  readonly askJudge: (leaf: Leaf<'http'>) => Promise<Judged | Unattached>;
};

export type Scored = {
  readonly kind: 'scored';
  /** Finite. */
  readonly score: number;
  /** How it came about, part by part; for people. */
  readonly detail: { readonly [key: string]: Json };
  /** Set when a grader ended badly and the environment gave that a score: the policy may have done it. */
  readonly suspected: Suspected | null;
  /** For the event log alone. */
  readonly why?: ToldWhy;
  /** For whoever keeps the rollout: the artifacts that were graded, as JSON. */
  readonly artifacts?: string;
};

export type Discarded = {
  readonly kind: 'discarded';
  readonly suspected: Suspected;
  readonly reason: string;
  /** For the event log alone. */
  readonly why?: ToldWhy;
};

export type Evaluation = Scored | Discarded;

/** Grades a part of a composed grader. */
export type EvaluatePart = (part: Grader) => Promise<Evaluation>;
