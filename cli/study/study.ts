import { quantile } from '../drawing/quantile.ts';
import { adviceOn } from './advice.ts';
import { type Assumptions, burstOf } from './burst.ts';
import { compare } from './compare.ts';
import type { DatasetStudy } from './dataset.ts';
import type { Discards, Latency, Study, SubjectStudy } from './found.ts';
import { type Ceiling, deviation, mean, scoredOf, type StudiedRollout, type Subject } from './rollout.ts';
import { bestOfK, itemsOf, type ItemSpread, levelsOf, partsOf, sharesOf } from './spread.ts';
import { tracesOf } from './traces.ts';

export type Asked = {
  readonly environment: string;
  readonly subjects: readonly Subject[];
  /** Another subject, whose items are compared with the first one's. */
  readonly against: Subject | null;
  readonly dataset: DatasetStudy | null;
  readonly ceilings: readonly Ceiling[];
  readonly assumed: Assumptions;
  readonly missing: readonly string[];
};

/** Everything that can be said, from what was seen alone: the same rollouts give the same study. */
export function studyOf(asked: Asked): Study {
  const { environment, subjects, against, dataset, ceilings, assumed, missing } = asked;
  const [first] = subjects;
  const studied = subjects.map(studySubject);
  const itemsSeen = new Set(subjects.flatMap(({ rollouts }) => rollouts.flatMap(({ item }) => item ?? [])))
    .size;
  const study = {
    environment,
    subjects: studied,
    together: subjects.length < 2 ? null : togetherOf(subjects),
    dataset,
    ceilings,
    against:
      first === undefined || against === null
        ? null
        : { before: first.name, after: against.name, quadrants: compare(first.rollouts, against.rollouts) },
    burst: first === undefined ? null : burstOf(first, dataset?.rows ?? itemsSeen, assumed),
    missing,
  };
  return { ...study, advice: adviceOn(study) };
}

function togetherOf(subjects: readonly Subject[]) {
  const rollouts = subjects.flatMap((subject) => subject.rollouts);
  return { names: subjects.map(({ name }) => name), shares: sharesOf(itemsOf(rollouts)) };
}

function studySubject({ name, what, rollouts: played }: Subject): SubjectStudy {
  const rollouts = played.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const scored = scoredOf(rollouts);
  const scores = scored.map(({ ended }) => ended.score);
  const items = itemsOf(rollouts);
  const written = rollouts.flatMap(({ writtenTokens }) => writtenTokens ?? []);
  return {
    name,
    what,
    rollouts: rollouts.length,
    scored: scored.length,
    ungraded: rollouts.filter(({ ended }) => ended.kind === 'ungraded').length,
    discarded: discardsOf(rollouts),
    mean: mean(scores),
    deviation: deviation(scores),
    shares: sharesOf(items),
    items,
    withoutItem: rollouts.filter(({ item }) => item === null).length,
    withoutChance: isWithoutChance(rollouts, items),
    bestOfK: bestOfK(items),
    levels: levelsOf(rollouts),
    traces: tracesOf(rollouts),
    latency: latencyOf(rollouts),
    parts: partsOf(rollouts),
    writtenTokens:
      written.length === 0 ? null : { mean: mean(written) ?? 0, p95: quantile(written, 0.95) ?? 0 },
  };
}

function discardsOf(rollouts: readonly StudiedRollout[]): Discards {
  const losses = rollouts.flatMap(({ ended }) => (ended.kind === 'lost' ? [ended.loss] : []));
  const alike = Map.groupBy(losses, ({ at, code, blame }) => JSON.stringify([code, blame, at]));
  const causes = [...alike.values()].flatMap(([loss, ...more]) =>
    loss === undefined ? [] : [{ ...loss, rollouts: more.length + 1 }],
  );
  return {
    rollouts: losses.length,
    causes: causes.toSorted((a, b) => b.rollouts - a.rollouts || (a.code + a.at < b.code + b.at ? -1 : 1)),
  };
}

/** Of a script with chance, or a model, some copies differ somewhere. */
function isWithoutChance(rollouts: readonly StudiedRollout[], items: readonly ItemSpread[]): boolean {
  const judged = items.filter(({ says }) => says !== 'unknown');
  if (judged.length === 0 || judged.some(({ says }) => says === 'spread')) return false;
  const scored = scoredOf(rollouts).filter(({ item }) => item !== null);
  return [...Map.groupBy(scored, ({ item }) => item).values()].every(
    (copies) => new Set(copies.map(({ calls }) => JSON.stringify(calls.map(tracedOf)))).size === 1,
  );
}

const tracedOf = ({ tool, arguments: given }: StudiedRollout['calls'][number]) => [tool, given];

function latencyOf(rollouts: readonly StudiedRollout[]): Latency {
  const points = scoredOf(rollouts).flatMap(({ tookMs, ended }) =>
    tookMs === null ? [] : [{ seconds: tookMs / 1000, score: ended.score }],
  );
  const [times, scores] = [points.map(({ seconds }) => seconds), points.map(({ score }) => score)];
  return { points, correlation: correlationOf(times, scores), p95: quantile(times, 0.95) };
}

function correlationOf(one: readonly number[], other: readonly number[]): number | null {
  const [a, b] = [mean(one), mean(other)];
  const [sa, sb] = [deviation(one), deviation(other)];
  if (a === null || b === null || !sa || !sb) return null;
  return (mean(one.map((each, index) => (each - a) * ((other[index] ?? b) - b))) ?? 0) / (sa * sb);
}
