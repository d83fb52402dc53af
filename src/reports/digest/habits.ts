import type { PartLine, PlaceLine } from '#src/protocol/console/run.ts';
import { kindOfTrait } from '#src/reports/findings/runs.ts';
import { gainIn, meanGain, meanOrNull, type PlacedRollout, type RunView } from './view.ts';

/** How often a call of one verb follows another of the most frequent ones. */
export function pairsOf({ rollouts, verbs: known }: RunView): number[][] {
  const places = new Map(known.map((verb, place) => [verb, place]));
  const counts = known.map(() => known.map(() => 0));
  for (const { verbs } of rollouts)
    for (const [at, verb] of verbs.entries()) {
      const row = counts[places.get(verbs[at - 1] ?? '') ?? -1];
      const place = places.get(verb);
      if (row !== undefined && place !== undefined) row[place] = (row[place] ?? 0) + 1;
    }
  return counts;
}

const mostPlaces = 12;
/** Fewer are no habit. */
const fewestRollouts = 3;
/** Paths are of the policy's choice, and each may have four folders. */
const mostCounted = 50_000;

/** Where rollouts look outside of their work, the newest first; if the same rollouts name several, the longest. */
export function placesOf(view: RunView): PlaceLine[] {
  const users = new Map<string, PlacedRollout[]>();
  for (const rollout of view.rollouts)
    for (const trait of rollout.traits) {
      if (kindOfTrait(trait) === 'verbs') continue;
      const known = users.get(trait);
      if (known !== undefined) known.push(rollout);
      else if (users.size < mostCounted) users.set(trait, [rollout]);
    }
  return [...users]
    .filter(([place, own]) => own.length >= fewestRollouts && !isExplained(place, own, users))
    .toSorted(([, one], [, other]) => firstStep(other) - firstStep(one) || other.length - one.length)
    .slice(0, mostPlaces)
    .map(([place, own]) => placeLine(place, own, view));
}

const firstStep = (users: readonly PlacedRollout[]): number => users[0]?.step ?? 0;

/** The folder above a longer place that the same rollouts name. */
function isExplained(
  place: string,
  own: readonly PlacedRollout[],
  users: ReadonlyMap<string, readonly PlacedRollout[]>,
): boolean {
  const below = own[0]?.traits.filter((trait) => trait.startsWith(`${place}/`)) ?? [];
  return below.some((longer) => users.get(longer)?.length === own.length);
}

function placeLine(place: string, own: readonly PlacedRollout[], view: RunView): PlaceLine {
  return {
    place,
    first_step: firstStep(own),
    shares: view.steps.map((all, step) => {
      const inStep = own.filter((one) => one.step === step).length;
      return inStep / Math.max(1, all.length);
    }),
    gain: meanGain(own.map((one) => gainIn(view, one))),
  };
}

const mostParts = 24;

/** What each part of the grader gave, by step. */
export function partsOf({ rollouts, steps }: RunView): PartLine[] {
  const names = new Set(rollouts.flatMap(({ parts }) => parts.map(({ part }) => part)));
  return [...names].slice(0, mostParts).map((part) => ({
    part,
    means: steps.map((own) => meanOrNull(own.flatMap(({ parts }) => scoresGiven(parts, part)))),
  }));
}

const scoresGiven = (parts: PlacedRollout['parts'], name: string): readonly number[] =>
  parts.flatMap(({ part, score }) => (part === name && score !== null ? [score] : []));
