import type { RunAnswer } from '../../src/protocol/native/runs.ts';
import type { Missing } from '../../src/reports/rollout-story.ts';
import type { Outline } from './outlines.ts';
import { runLineOfAnswer, runLinesOfOutlines } from './run-lines.ts';
import type { RunLine } from './run-lines.ts';
import { suspectsOf } from './suspects.ts';
import type { Suspect } from './suspects.ts';

/** One run in full. */
export type RunStory = RunLine & {
  /** Null where only the event log is left: it knows no groups. */
  readonly waves: RunAnswer['waves'] | null;
  readonly suspects: readonly Suspect[];
  readonly missing: readonly Missing[];
  /** Null where only the event log is left. */
  readonly cost: RunCost | null;
};

/** What sandboxes cost: of the run in seconds, and how much of the whole fleet's nobody used. */
export type RunCost = {
  readonly seconds: RunAnswer['sandbox_seconds'];
  readonly fleet_idle_share: number | null;
};

/** Commands are in the event log only, so what is suspected comes from there; none where there is no log. */
export function runStoryOfAnswer(answer: RunAnswer, logged: readonly Outline[]): RunStory {
  const own = logged.filter(({ run }) => run === answer.run);
  const cost = { seconds: answer.sandbox_seconds, fleet_idle_share: answer.fleet_idle_share };
  return { ...runLineOfAnswer(answer), waves: answer.waves, suspects: suspectsOf(own), missing: [], cost };
}

/** Null when the log tells of no such run. */
export function runStoryOfOutlines(run: string, logged: readonly Outline[]): RunStory | null {
  const own = logged.filter((outline) => outline.run === run);
  const [line] = runLinesOfOutlines(own);
  if (line === undefined) return null;
  return { ...line, waves: null, suspects: suspectsOf(own), missing: [], cost: null };
}
