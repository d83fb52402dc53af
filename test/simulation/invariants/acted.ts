import { blameOf } from '#src/failure/codes.ts';
import type { World } from '../world.ts';
import type { Invariant } from './inspector.ts';
import { ownerKey } from './owner-key.ts';

/** What a world with an actor is for. That no score is better than the truth is asked of every score. */
export const acted: Readonly<Record<string, Invariant>> = {
  'a policy that fails its own sandbox is never discarded without a mark': (world) => {
    if (world.stage?.actor !== 'adversary') return null;
    for (const { key, verdict } of world.verdicts) {
      const deed = world.stage.deedOf(key);
      if (deed !== null && verdict.kind === 'discard' && verdict.suspected === undefined)
        return `${key} was discarded by ${verdict.code}, unmarked, after ${JSON.stringify(deed)}`;
    }
    return null;
  },

  'a policy that plays its judge is never discarded without a mark': (world) => {
    if (world.stage?.actor !== 'adversary') return null;
    const unmarked = world.verdicts.find(
      ({ key, verdict }) =>
        isGuarded(world, key) &&
        verdict.kind === 'discard' &&
        verdict.suspected === undefined &&
        // What its trainer ended or left is not its judge's doing.
        blameOf(verdict.code) === 'infrastructure',
    );
    return unmarked === undefined ? null : `${unmarked.key} was ${JSON.stringify(unmarked.verdict)}`;
  },

  'a judge is suspect only for a canary of its own': ({ verdicts, wrongCanaries }) => {
    const suspect = verdicts.find(
      ({ verdict }) => verdict.kind === 'discard' && verdict.code === 'judge_suspect',
    );
    return suspect === undefined || wrongCanaries.size > 0 ? null : `${suspect.key}, and no canary was wrong`;
  },
};

const isGuarded = ({ planned }: World, owner: string): boolean =>
  planned.some(({ run, name, environment }) => environment === 'guarded' && ownerKey(run, name) === owner);

/** How a rollout ended in whose sandbox the actor acted. */
export type TryEnd = 'scored' | 'marked' | 'unmarked' | 'open';

/** What the actor did to each rollout, and what came of it. */
export function triesOf(world: World) {
  return world.planned.flatMap(({ run, name }) => {
    const key = ownerKey(run, name);
    const deed = world.stage?.deedOf(key) ?? null;
    if (world.stage === null || deed === null) return [];
    return [{ step: deed.step, isolation: world.stage.isolation, end: endOf(world, key) }];
  });
}

function endOf({ verdicts }: World, owner: string): TryEnd {
  const verdict = verdicts.find(({ key }) => key === owner)?.verdict;
  if (verdict === undefined) return 'open';
  if (verdict.kind === 'scorable') return 'scored';
  return verdict.suspected === undefined ? 'unmarked' : 'marked';
}
