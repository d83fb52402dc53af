import type { Cell } from '#src/protocol/console/run.ts';
import { deviationOf, meanOrNull, type PlacedRollout, type RunView, scoresOf } from './view.ts';

/** A page shows some, and a run of a whole dataset has thousands. */
const mostItems = 200;

export type Items = { readonly names: readonly string[]; readonly placeOf: ReadonlyMap<string, number> };

/** Items by the change of their reward from the first step to the last that they are in, the largest first. */
export function itemsOf({ rollouts }: RunView): Items {
  const byItem = Map.groupBy(rollouts, ({ item }) => item ?? '');
  byItem.delete('');
  const inOrder = [...byItem].toSorted(([, one], [, other]) => changeOf(other) - changeOf(one));
  const names = inOrder.slice(0, mostItems).map(([item]) => item);
  return { names, placeOf: new Map(names.map((name, place) => [name, place])) };
}

function changeOf(rollouts: readonly PlacedRollout[]): number {
  const [first, last] = [rollouts[0]?.step, rollouts.at(-1)?.step];
  const meanAt = (at: number | undefined) => meanOrNull(scoresOf(rollouts.filter(({ step }) => step === at)));
  return Math.abs((meanAt(last) ?? 0) - (meanAt(first) ?? 0));
}

export const cellsOf = ({ steps, groups }: RunView, { names }: Items): Cell[][] =>
  names.map((name) => steps.map((_, step) => cellOf(groups.get(`${step} ${name}`))));

function cellOf(copies: readonly PlacedRollout[] | undefined): Cell {
  if (copies === undefined) return null;
  const scores = scoresOf(copies);
  return {
    n: copies.length,
    mean: meanOrNull(scores),
    spread: scores.length < 2 ? null : deviationOf(scores),
    lost: copies.filter(({ loss }) => loss !== null).length,
  };
}
