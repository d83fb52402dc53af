import type { RunAnswer } from '#src/protocol/native/runs.ts';
import type { RolloutLine } from '#src/protocol/native/rollouts.ts';
import type { Source } from '#src/reports/rollout-story.ts';
import type { Outline } from './outlines.ts';

/** One run in a list. */
export type RunLine = {
  readonly source: Source;
  readonly run: string;
  /** Null where only the event log is left. */
  readonly state: string | null;
  readonly rollouts: number;
  readonly open: number | null;
  readonly scored: number;
  readonly discarded: number;
  /** Failure codes by how often. */
  readonly codes: Readonly<Record<string, number>>;
};

/** One rollout in a list. */
export type RolloutSummary = {
  readonly source: Source;
  readonly rolloutId: string;
  readonly run: string;
  readonly attempt: number;
  readonly environment: string;
  readonly state: string | null;
  readonly verdict: 'scorable' | 'discard' | null;
  readonly code: string | null;
  readonly cause: string | null;
  readonly score: number | null;
  readonly calls: number;
};

export function runLineOfAnswer(answer: RunAnswer): RunLine {
  const { run, state, rollouts, open, scored, discarded, codes } = answer;
  return { source: 'fleet', run, state, rollouts, open, scored, discarded, codes };
}

export function runLinesOfOutlines(outlines: readonly Outline[]): readonly RunLine[] {
  return [...Map.groupBy(outlines, ({ run }) => run)].map(([run, own]) => ({
    source: 'event log',
    run,
    state: null,
    rollouts: own.length,
    open: null,
    scored: own.filter(({ score }) => score !== null).length,
    discarded: own.filter(({ verdict }) => verdict?.kind === 'discard').length,
    codes: countCodes(own),
  }));
}

function countCodes(outlines: readonly Outline[]): Readonly<Record<string, number>> {
  const codes = outlines.flatMap(({ verdict }) => (verdict?.kind === 'discard' ? [verdict.code] : []));
  return Object.fromEntries([...Map.groupBy(codes, (code) => code)].map(([code, all]) => [code, all.length]));
}

export function summaryOfLine(line: RolloutLine): RolloutSummary {
  const discard = line.verdict.kind === 'discard' ? line.verdict : null;
  return {
    source: 'fleet',
    rolloutId: line.rollout_id,
    run: line.run,
    attempt: line.attempt,
    environment: line.environment,
    state: line.state,
    verdict: line.verdict.kind,
    code: discard?.code ?? null,
    cause: discard?.cause ?? null,
    score: line.score,
    calls: line.call_count,
  };
}

export function summaryOfOutline(outline: Outline): RolloutSummary {
  const { rolloutId, run, attempt, environment, verdict, score, calls } = outline;
  const discard = verdict?.kind === 'discard' ? verdict : null;
  return {
    source: 'event log',
    rolloutId,
    run,
    attempt,
    environment,
    state: null,
    verdict: verdict?.kind ?? null,
    code: discard?.code ?? null,
    cause: discard?.cause ?? null,
    score,
    calls,
  };
}

/** Fleet state knows a rollout for some hours after its end; of those before, the event log tells. */
export function withEnded(
  known: readonly RolloutSummary[],
  logged: readonly RolloutSummary[],
): readonly RolloutSummary[] {
  const name = ({ run, rolloutId, attempt }: RolloutSummary) => JSON.stringify([run, rolloutId, attempt]);
  const names = new Set(known.map(name));
  return [...known, ...logged.filter((one) => !names.has(name(one)))];
}
