import { failureRow } from '../failure/codes.ts';
import type { Blame, FailureCode } from '../failure/codes.ts';
import { lossCauses } from '../failure/meanings/loss-causes.ts';
import { meanings } from '../failure/meanings/sections.ts';
import type { Suspected } from '../failure/suspected.ts';
import { lastCommandOf } from './rollout-story.ts';
import type { CallStory, RolloutStory } from './rollout-story.ts';
import { timelineOf } from './timeline.ts';
import type { Moment } from './timeline.ts';
import { toldOf } from './told.ts';
import type { Told } from './told.ts';

/** Why a rollout can never be scored, for the person who asks: the questions in the order in which they are asked. */
export type Explanation = {
  readonly code: FailureCode;
  readonly cause: string | null;
  /** What happened, in sentences: of the code, then of the cause. */
  readonly what: readonly string[];
  readonly timeline: readonly Moment[];
  readonly evidence: RolloutStory['evidence'];
  /** Which life of which sandbox ran the calls, and which answered after; null: none is known to have. */
  readonly epoch: { readonly before: string | null; readonly after: string | null };
  /** Whether the call that was cut off may have run; null where none was. */
  readonly admitted: string | null;
  readonly blame: Blame;
  readonly suspected: Suspected | null;
  readonly whose: string;
  readonly lastCommand: string | null;
  readonly told: readonly Told[];
};

/** Null for a rollout that may be scored, or has no verdict yet. */
export function explain(story: RolloutStory): Explanation | null {
  const { verdict, evidence, suspected, sandbox, boot } = story;
  if (verdict?.kind !== 'discard') return null;
  const { code, cause = null } = verdict;
  const { blame } = failureRow(code);
  const after = evidence['boot_after'];
  return {
    code,
    cause,
    what: [meanings[code].means, ...meaningOf(cause)],
    timeline: timelineOf(story),
    evidence,
    epoch: {
      before: sandbox === null ? null : `${sandbox}, boot ${boot ?? 'unknown'}`,
      after: typeof after === 'string' ? `${sandbox}, boot ${after}` : null,
    },
    admitted: story.calls.find(wasCutOff)?.admitted ?? null,
    blame,
    suspected,
    whose: whoseFault(blame, suspected),
    lastCommand: lastCommandOf(story),
    told: toldOf(story, code),
  };
}

const wasCutOff = ({ outcome }: CallStory): boolean => outcome === 'infrastructure_failure';

function meaningOf(cause: string | null): readonly string[] {
  if (cause === null || !Object.hasOwn(lossCauses, cause)) return [];
  return [lossCauses[cause as keyof typeof lossCauses].means];
}

function whoseFault(blame: Blame, suspected: Suspected | null): string {
  if (suspected === 'command') {
    return 'Counted as ours. Suspected: a command of the policy; nothing proves it, and nothing rules it out.';
  }
  if (suspected === 'answer') {
    return 'Counted as ours. Suspected: the policy’s answer, of which the judge may have failed; nothing proves it.';
  }
  if (blame === 'caller') return 'The caller’s: the request or its timing, not the policy and not the fleet.';
  return 'Ours: nothing that the policy did could have caused it.';
}
