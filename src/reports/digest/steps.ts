import type { StepLine } from '#src/protocol/console/run.ts';
import { quantile } from '#src/reports/findings/runs.ts';
import { deviationOf, meanOrNull, type PlacedRollout, type RunView, scoresOf } from './view.ts';

export const stepLines = ({ steps, verbs }: RunView): StepLine[] =>
  steps.map((rollouts) => stepLine(rollouts, verbs));

function stepLine(rollouts: readonly PlacedRollout[], verbs: readonly string[]): StepLine {
  const scores = scoresOf(rollouts);
  const groups = scoredGroups(rollouts);
  const outputs = rollouts.map(outputBytesOf);
  return {
    at_ms: rollouts[0]?.openedAtMs ?? 0,
    rollouts: rollouts.length,
    scored: scores.length,
    mean: meanOrNull(scores),
    spread: meanOrNull(groups.filter((group) => group.length > 1).map(deviationOf)),
    best: meanOrNull(groups.map((group) => Math.max(...group))),
    calls_p95: quantile(
      rollouts.map(({ calls }) => calls.length),
      0.95,
    ),
    verbs: meanCalls(rollouts, verbs),
    output_median: quantile(outputs, 0.5),
    output_p95: quantile(outputs, 0.95),
    lost: lossesOf(rollouts),
  };
}

export const outputBytesOf = ({ calls }: PlacedRollout): number =>
  calls.reduce((total, { outputBytes }) => total + outputBytes, 0);

const scoredGroups = (rollouts: readonly PlacedRollout[]): readonly (readonly number[])[] =>
  [...Map.groupBy(rollouts, ({ group }) => group).values()]
    .map(scoresOf)
    .filter((scores) => scores.length > 0);

/** Calls a rollout by verb; the last number is all other verbs. */
function meanCalls(rollouts: readonly PlacedRollout[], known: readonly string[]): number[] {
  const places = new Map(known.map((verb, place) => [verb, place]));
  const counts = Array.from({ length: known.length + 1 }, () => 0);
  for (const { verbs } of rollouts)
    for (const verb of verbs) {
      const place = places.get(verb) ?? known.length;
      counts[place] = (counts[place] ?? 0) + 1;
    }
  return counts.map((count) => count / Math.max(1, rollouts.length));
}

function lossesOf(rollouts: readonly PlacedRollout[]): StepLine['lost'] {
  const losses = rollouts.flatMap(({ loss }) => (loss === null ? [] : [loss]));
  const by = (blame: string) => losses.filter((loss) => loss.blame === blame).length;
  return {
    infrastructure: by('infrastructure'),
    caller: by('caller'),
    model: by('model'),
    suspected: losses.filter(({ suspected }) => suspected).length,
  };
}

/** Of the whole run. */
export const meanReward = ({ rollouts }: RunView): number | null => meanOrNull(scoresOf(rollouts));

export const callsOf = ({ rollouts }: RunView): number =>
  rollouts.reduce((total, { calls }) => total + calls.length, 0);
