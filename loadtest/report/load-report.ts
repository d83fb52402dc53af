import { visibleLine } from '#src/model/visible-text.ts';
import { allScored, latencyOf, type LoadFindings, showsZeros } from '../burst/load-findings.ts';
import type { LoadOptions } from '../burst/options.ts';
import type { LoadRun } from '../burst/run-load.ts';
import { isClean } from '../trainer/verdict.ts';
import { codeOf, countLines, discardLine, findingLines, zeroLines } from './soak-report.ts';

/** Discards that are told one by one; the rest is counted. */
const mostTold = 10;

/** What a person reads at the end. Words of a fleet that nobody trusts are among them: each is shown on its line. */
export function loadLines(
  { run, lastedMs, ownDelayMs, findings }: LoadRun,
  options: LoadOptions,
): readonly string[] {
  const { verdict, discards } = findings;
  const { all, scored, cancelled } = verdict.rollouts;
  return [
    `${run}: ${all} rollouts, ${verdict.calls} calls in ${inSeconds(lastedMs)}`,
    '',
    'first answer of a rollout     n       p50       p99',
    ...latencyLines(findings),
    `  this trainer itself was late by ${inSeconds(ownDelayMs)} (p99)`,
    '',
    'answers, each repeat counted',
    ...Object.entries(findings.answers).map(([status, n]) => `  ${String(n).padStart(5)}  ${status}`),
    '',
    `scored ${scored}, given up by this end ${cancelled}, not begun ${findings.notBegun}, discarded ${discards.length}, by blame:`,
    ...countLines(discards.map(({ blame }) => blame)),
    ...countLines(discards.map(({ truth }) => codeOf(truth))),
    ...discards.slice(0, mostTold).map(({ truth }) => `  ${discardLine(truth)}`),
    '',
    ...zeroLines(verdict),
    ...findingLines(findings.findings),
    ...findings.notChecked.map((what) => `not checked: ${what}`),
    '',
    conclusion(findings, options),
  ].map(visibleLine);
}

function conclusion(findings: LoadFindings, options: LoadOptions): string {
  const { verdict } = findings;
  const { rollouts } = verdict;
  if (!isClean(verdict)) return 'NOT CLEAN: the fleet taught the policy something untrue.';
  if (rollouts.scored === 0) return 'NOTHING SHOWN: the four zeros hold, and no rollout was scored.';
  if (options.allScored && !allScored(findings)) {
    return `NOT ALL: the four zeros hold, ${rollouts.all - rollouts.scored} rollouts were not scored, ${findings.otherThan200} answers were other than 200.`;
  }
  return 'All four zeros hold.';
}

function latencyLines({ firstAnswersMs }: LoadFindings): readonly string[] {
  const all = Object.values(firstAnswersMs).flat();
  return Object.entries({ all, ...firstAnswersMs })
    .filter(([, times]) => times.length > 0)
    .map(([name, times]) => {
      const { count, p50Ms, p99Ms } = latencyOf(times);
      const figures = [String(count).padStart(7), ...[p50Ms, p99Ms].map((ms) => inSeconds(ms).padStart(10))];
      return `  ${nameOf(name).padEnd(22)}${figures.join('')}`;
    });
}

const nameOf = (start: string) => (start === 'other' ? 'start not told' : start);

const inSeconds = (ms: number | null): string => (ms === null ? '–' : `${(ms / 1000).toFixed(2)} s`);

/** For programs: an upgrade's or a drain's test reads these numbers. Names stay as they are. */
export function loadJson({ run, lastedMs, ownDelayMs, findings }: LoadRun, options: LoadOptions) {
  const { verdict, discards, firstAnswersMs } = findings;
  const { all, scored, cancelled } = verdict.rollouts;
  return {
    run,
    environment: options.environment,
    face: options.face,
    seed: options.seed,
    duration_ms: Math.round(lastedMs),
    own_delay_ms: Math.round(ownDelayMs),
    rollouts: all,
    scored,
    given_up: cancelled,
    not_begun: findings.notBegun,
    not_scored: all - scored,
    calls: verdict.calls,
    answers: findings.answers,
    answers_other_than_200: findings.otherThan200,
    zeros: {
      scored_despite_failure: verdict.scoredDespiteFailure,
      model_failures_discarded: verdict.modelFailuresDiscarded,
      ran_twice: verdict.ranTwice,
      infrastructure_text_shown: verdict.infrastructureTextShown,
    },
    first_answer: {
      all: latencyJson(Object.values(firstAnswersMs).flat()),
      warm: latencyJson(firstAnswersMs.warm),
      cold: latencyJson(firstAnswersMs.cold),
    },
    discards: discards.map(({ truth, blame, reason }) => ({
      rollout_id: truth.rollout,
      what: codeOf(truth),
      blame,
      reason,
    })),
    findings: findings.findings.map(({ kind, rollout, detail }) => ({ kind, rollout_id: rollout, detail })),
    not_checked: findings.notChecked,
    clean: showsZeros(findings),
    all_scored: allScored(findings),
  };
}

function latencyJson(timesMs: readonly number[]) {
  const { count, p50Ms, p99Ms } = latencyOf(timesMs);
  return { count, p50_ms: p50Ms, p99_ms: p99Ms };
}
