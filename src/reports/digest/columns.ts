import { ownerOf } from '#src/model/rollout.ts';
import type { Columns } from '#src/protocol/console/run.ts';
import type { Items } from './items.ts';
import { outputBytesOf } from './steps.ts';
import { gainIn, type PlacedRollout, type RunView } from './view.ts';

/** A line of a table shows less. */
const longestStrip = 120;

export function columnsOf(view: RunView, { placeOf }: Items): Columns {
  const { rollouts } = view;
  const owners = rollouts.map(({ key }) => ownerOf(key));
  const letters = new Map(view.verbs.map((verb, place) => [verb, String.fromCharCode(firstLetter + place)]));
  const other = String.fromCharCode(firstLetter + view.verbs.length);
  return {
    id: owners.map(({ rollout }) => rollout),
    attempt: owners.map(({ attempt }) => attempt),
    item: rollouts.map(({ item }) => placeOf.get(item ?? '') ?? -1),
    step: rollouts.map(({ step }) => step),
    score: rollouts.map(({ score }) => score),
    gain: rollouts.map((rollout) => gainIn(view, rollout)),
    code: rollouts.map(({ loss }) => loss?.code ?? null),
    suspected: rollouts.map(({ loss }) => loss?.suspected ?? false),
    calls: rollouts.map(({ calls }) => calls.length),
    strip: rollouts.map((rollout) => stripOf(rollout, letters, other)),
    opened_at_ms: rollouts.map(({ openedAtMs }) => openedAtMs),
    took_ms: rollouts.map(({ openedAtMs, endedAtMs }) =>
      endedAtMs === null ? null : endedAtMs - openedAtMs,
    ),
    output_bytes: rollouts.map(outputBytesOf),
  };
}

const firstLetter = 'a'.charCodeAt(0);

const stripOf = (
  { verbs, calls }: PlacedRollout,
  letters: ReadonlyMap<string, string>,
  other: string,
): string =>
  verbs
    .slice(0, longestStrip)
    .map((verb, at) => {
      const letter = letters.get(verb) ?? other;
      return calls[at]?.blame === null ? letter : letter.toUpperCase();
    })
    .join('');
