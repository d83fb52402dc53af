import type { Ended } from './play.ts';
import type { HostileKind } from './policies.ts';

/** A rollout that ended, who played it, and the score that its work was worth. */
export type Played = Ended & { readonly who: 'honest' | HostileKind; readonly worth: number };

export type HostileCounts = {
  readonly scored: number;
  /** Of honest ones a score that is not what the work was worth, of hostile ones a better one. */
  readonly falsely: number;
  readonly marked: number;
  readonly unmarked: number;
};

const isFalse = ({ who, score, worth }: Played): boolean =>
  score !== null && (who === 'honest' ? score !== worth : score > worth);

export function countPlayed(played: readonly Played[]): HostileCounts {
  const discarded = played.filter(({ score }) => score === null);
  return {
    scored: played.length - discarded.length,
    falsely: played.filter(isFalse).length,
    marked: discarded.filter(({ suspected }) => suspected).length,
    unmarked: discarded.filter(({ suspected }) => !suspected).length,
  };
}

/** No score is false, no hostile policy has a discard without a mark, and each side was scored or discarded at all. */
export function isHeld(played: readonly Played[]): boolean {
  const hostile = played.filter(({ who }) => who !== 'honest');
  const honest = countPlayed(played.filter(({ who }) => who === 'honest'));
  return (
    countPlayed(played).falsely === 0 &&
    countPlayed(hostile).unmarked === 0 &&
    hostile.length > 0 &&
    honest.scored > 0
  );
}

/** A line for each policy, and one for each reason of its discards. */
export function describePlayed(played: readonly Played[]): readonly string[] {
  const sides = Map.groupBy(played, ({ who }) => who);
  return [...sides].flatMap(([who, rollouts]) => {
    const { scored, falsely, marked, unmarked } = countPlayed(rollouts);
    const line = `${who}: ${rollouts.length} rollouts, ${scored} scored, ${falsely} of them falsely, ${marked} discards marked, ${unmarked} not marked`;
    const discards = rollouts.filter(({ score }) => score === null);
    const reasons = Map.groupBy(discards, ({ why, suspected }) => `${why}${suspected ? ', marked' : ''}`);
    const lines = Array.from(reasons, ([reason, those]) => `  ${those.length} × ${reason}`);
    return [line].concat(lines);
  });
}
