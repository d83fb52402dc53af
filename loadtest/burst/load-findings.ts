import type { FleetRollout } from '#demo/fleet/fleet-view.ts';
import { quantile } from '#cli/drawing/quantile.ts';
import { reasonOf } from '../trainer/faults-seen.ts';
import { type Finding, judgeCalls } from '../trainer/judge.ts';
import type { RolloutTruth } from '../trainer/truth.ts';
import { type Discarded, isClean, type TrainerVerdict, verdictOf } from '../trainer/verdict.ts';
import type { Played } from './play-burst.ts';
import { isSuccess, type Try } from './tries.ts';

/** What the same answer was scored when nothing else was played. */
export type AloneScores = { readonly right: number; readonly wrong: number };

/** All that the trainer saw, and what it may ask of it. */
export type Seen = {
  /** Rollouts that would have been played in unbounded time. */
  readonly planned: number;
  readonly played: readonly Played[];
  readonly tries: readonly Try[];
  /** Null where scores are not compared. */
  readonly alone: AloneScores | null;
  readonly runsCommands: boolean;
  /** What the fleet says of its starts; null where the key may not ask, or nobody answered. */
  readonly fleet: readonly FleetRollout[] | null;
};

export type Latency = {
  readonly count: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
};

export type LoadFindings = {
  readonly verdict: TrainerVerdict;
  readonly findings: readonly Finding[];
  readonly discards: readonly (Discarded & { readonly blame: string })[];
  /** Of each rollout, from its first call until the first answer to one; `other` has no start that anybody told. */
  readonly firstAnswersMs: Readonly<Record<'warm' | 'cold' | 'other', readonly number[]>>;
  /** How many requests ended with each status and code, repeats included; `lost` where the connection was. */
  readonly answers: Readonly<Record<string, number>>;
  readonly otherThan200: number;
  /** Rollouts for which there was no time. */
  readonly notBegun: number;
  readonly notChecked: readonly string[];
  readonly tries: readonly Try[];
};

/** Judges everything by what was seen. */
export function findLoad(seen: Seen): LoadFindings {
  const truths = seen.played.map(({ truth }) => truth);
  const findings = seen.played.flatMap((one) => [
    ...(seen.runsCommands ? judgeCalls(one.truth) : leaksIn(one.truth)),
    ...judgeScore(one, seen.alone),
  ]);
  const blames = new Map(seen.tries.map(({ rollout, blame }) => [rollout, blame]));
  const discards = truths
    .filter(({ ending }) => ending.kind === 'discarded')
    .map((truth) => ({
      truth,
      reason: discardReason(truth),
      blame: blames.get(truth.rollout) ?? 'nobody told',
    }));
  return {
    verdict: verdictOf(truths, findings, discards),
    findings,
    discards,
    firstAnswersMs: firstAnswers(truths, seen.fleet),
    answers: countAnswers(seen.tries),
    otherThan200: seen.tries.filter(({ status }) => !isSuccess(status)).length,
    notBegun: seen.planned - truths.length,
    notChecked: notChecked(seen),
    tries: seen.tries,
  };
}

/** Whether all is well: the zeros hold and something shows it. */
export const showsZeros = ({ verdict }: LoadFindings): boolean =>
  isClean(verdict) && verdict.rollouts.scored > 0;

/** Also what an honest fleet may do under a fault, and an upgrade or a drain may not. */
export const allScored = ({ verdict: { rollouts }, otherThan200 }: LoadFindings): boolean =>
  rollouts.scored === rollouts.all && otherThan200 === 0;

export function latencyOf(timesMs: readonly number[]): Latency {
  return { count: timesMs.length, p50Ms: quantile(timesMs, 0.5), p99Ms: quantile(timesMs, 0.99) };
}

/** A discard at the very call in which the policy did wrong hides it; nobody tells us of faults that would explain one. */
function discardReason(truth: RolloutTruth): Discarded['reason'] {
  return reasonOf({ ...truth, calls: truth.calls.filter(({ shown }) => shown === null) }, null, []);
}

function leaksIn({ rollout, calls }: RolloutTruth): readonly Finding[] {
  return calls
    .filter(({ leaked }) => leaked)
    .map(({ ids, shown }) => ({
      kind: 'shown_infrastructure_text',
      rollout,
      detail: `${ids.join(', ')}: ${(shown ?? '').slice(0, 200)}`,
    }));
}

/** The grader is asked the same in every rollout with the same answer: load may not change what it says. */
function judgeScore({ truth, isRight }: Played, alone: AloneScores | null): readonly Finding[] {
  if (alone === null || truth.ending.kind !== 'scored') return [];
  const wanted = isRight ? alone.right : alone.wrong;
  if (truth.ending.score === wanted) return [];
  const detail = `scored ${truth.ending.score}, and the same answer alone was scored ${wanted}`;
  return [{ kind: 'scored_despite_failure', rollout: truth.rollout, detail }];
}

function firstAnswers(
  truths: readonly RolloutTruth[],
  fleet: readonly FleetRollout[] | null,
): LoadFindings['firstAnswersMs'] {
  const starts = new Map(fleet?.map(({ rollout, launchType }) => [rollout, launchType]));
  const times = truths.flatMap(({ rollout, calls }) => {
    const answered = calls.filter(({ shown, leaked }) => shown !== null && !leaked);
    if (answered.length === 0) return [];
    const sentMs = Math.min(...calls.map((call) => call.sentMs));
    const ms = Math.min(...answered.map(({ endedMs }) => endedMs)) - sentMs;
    return [{ ms, start: starts.get(rollout) ?? ('other' as const) }];
  });
  const of = (wanted: string) => times.filter(({ start }) => start === wanted).map(({ ms }) => ms);
  return { warm: of('warm'), cold: of('cold'), other: of('other') };
}

function countAnswers(tries: readonly Try[]): LoadFindings['answers'] {
  const kinds = Map.groupBy(tries, ({ status, code }) => [status ?? 'lost', code ?? []].flat().join(' '));
  return Object.fromEntries([...kinds].map(([kind, some]) => [kind, some.length]));
}

function notChecked({ runsCommands, alone, fleet }: Seen): readonly string[] {
  return [
    ...(runsCommands
      ? []
      : ['whether a command ran twice or on a fresh machine: the tool runs none that could leave evidence']),
    ...(alone === null ? ['whether scores are those of a rollout alone: --any-score'] : []),
    ...(alone !== null && alone.right === alone.wrong
      ? [
          `whether a score is that of the answer: right and wrong are both ${alone.right}; see --item and --answer`,
        ]
      : []),
    ...(fleet === null
      ? ['which starts were warm or cold: the key has no scope native, or nobody answered']
      : []),
  ];
}
