import type { Json } from '#src/model/grader.ts';
import type { Script } from '../proving/play.ts';
import type { Target } from './target.ts';

/** One way to a reward without the work. */
export type Attack = {
  readonly name: string;
  /** The hole that is open where it is paid. */
  readonly hole: string;
  /** What the author does then. */
  readonly fix: string;
  /** What a try is compared with; default: doing nothing. `reference`: a part of the full score is right, the full score is a hole. */
  readonly against?: 'reference';
  /** What is played, each at least once; none where nothing in the environment can be attacked like that. */
  readonly scripts: (target: Target) => readonly Script[];
};

/** An answer without any call. */
export const say = (answer: Json): Script => ({ steps: [], answer: () => answer });

/** Commands, and a word at the end; nothing where no tool runs a command. */
export const running = ({ run }: Target, ...commands: readonly string[]): readonly Script[] =>
  run === null ? [] : [{ steps: commands.map((command) => run(command)), answer: () => 'done' }];
