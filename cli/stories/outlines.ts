import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import type { RolloutLine } from '#src/protocol/native/rollouts.ts';
import type { RunAnswer } from '#src/protocol/native/runs.ts';
import type { RolloutStory, Source } from '#src/reports/rollout-story.ts';

/** Of a rollout's story, what lists and sums need: they are of tens of thousands, whose events are hundreds of megabytes. */
export type Outline = Pick<
  RolloutStory,
  'rolloutId' | 'run' | 'attempt' | 'environment' | 'verdict' | 'score' | 'suspected' | 'voidReason'
> & {
  readonly key: RolloutKey;
  readonly calls: number;
  /** Of the last call whose command is known. */
  readonly lastCommand: string | null;
};

/** What is known of one so far; each part is of the latest event that tells it, in whatever order they come. */
type Draft = {
  readonly key: RolloutKey;
  firstAtMs: number;
  calls: number;
  /** Why a caller took it out of its run: its score stands, and no figure counts it. */
  voidReason: string | null;
  readonly environment: Latest<string>;
  readonly verdict: Latest<Extract<RolloutEvent, { kind: 'verdict' }> | null>;
  readonly command: Latest<string | null>;
};

/** Two kilobytes each. The newest files are read first, so what is left out is the oldest. */
export const mostRollouts = 100_000;

/** Makes outlines of events as they come, and keeps none of the events. */
export class Outlines {
  readonly #drafts = new Map<RolloutKey, Draft>();
  readonly #finished: Dated[] = [];
  readonly #most: number;

  constructor(most: number = mostRollouts) {
    this.#most = most;
  }

  /** False: there are too many rollouts already, and this is of another. */
  add(event: RolloutEvent): boolean {
    const draft = this.#drafts.get(event.key) ?? newDraft(event);
    if (!this.#drafts.has(event.key)) {
      if (this.#drafts.size >= this.#most) return false;
      this.#drafts.set(event.key, draft);
    }
    note(draft, event);
    return true;
  }

  /** It has had its last event, and does not count as one of too many. */
  finish(key: RolloutKey): void {
    const draft = this.#drafts.get(key);
    if (draft !== undefined) this.#finished.push(datedOf(draft));
    this.#drafts.delete(key);
  }

  /** In the order of their first events. */
  get all(): readonly Outline[] {
    const all = [...this.#finished, ...[...this.#drafts.values()].map(datedOf)];
    return all.toSorted((a, b) => a.firstAtMs - b.firstAtMs).map(({ outline }) => outline);
  }
}

type Dated = { readonly firstAtMs: number; readonly outline: Outline };

const datedOf = (draft: Draft): Dated => ({ firstAtMs: draft.firstAtMs, outline: outlineOf(draft) });

class Latest<Value> {
  #atMs = Number.NEGATIVE_INFINITY;
  value: Value;

  constructor(none: Value) {
    this.value = none;
  }

  note(value: Value, atMs: number): void {
    if (atMs < this.#atMs) return;
    this.#atMs = atMs;
    this.value = value;
  }
}

const newDraft = ({ key, atMs }: RolloutEvent): Draft => ({
  key,
  firstAtMs: atMs,
  calls: 0,
  voidReason: null,
  environment: new Latest(''),
  verdict: new Latest<Extract<RolloutEvent, { kind: 'verdict' }> | null>(null),
  command: new Latest<string | null>(null),
});

function note(draft: Draft, event: RolloutEvent): void {
  const { atMs } = event;
  draft.firstAtMs = Math.min(draft.firstAtMs, atMs);
  draft.environment.note(event.environment, atMs);
  if (event.kind === 'rollout_voided') draft.voidReason = event.reason;
  if (event.kind === 'verdict') draft.verdict.note(event, atMs);
  // Fleet state settled the call, and does not know the command; the gateway that had sent it does.
  if (event.kind === 'lost_command') draft.command.note(event.command, atMs);
  if (event.kind !== 'call_settled') return;
  draft.calls += 1;
  if (event.lastCommand !== '') draft.command.note(event.lastCommand, event.summary.startedAtMs);
}

function outlineOf({ key, environment, verdict, command, calls, voidReason }: Draft): Outline {
  const { rollout: rolloutId, run, attempt } = ownerOf(key);
  return {
    key,
    rolloutId,
    run,
    attempt,
    environment: environment.value,
    verdict: verdict.value?.verdict ?? null,
    score: verdict.value?.score ?? null,
    suspected: verdict.value?.suspected ?? null,
    calls,
    voidReason,
    lastCommand: command.value,
  };
}

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
  /** Scores that are left out of `scored` and of every mean. */
  readonly voided: number;
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
  readonly voided: boolean;
  readonly calls: number;
};

export function runLineOfAnswer(answer: RunAnswer): RunLine {
  const { run, state, rollouts, open, scored, discarded, voided = 0, codes } = answer;
  return { source: 'fleet', run, state, rollouts, open, scored, discarded, voided, codes };
}

export function runLinesOfOutlines(outlines: readonly Outline[]): readonly RunLine[] {
  return [...Map.groupBy(outlines, ({ run }) => run)].map(([run, own]) => ({
    source: 'event log',
    run,
    state: null,
    rollouts: own.length,
    open: null,
    scored: own.filter(({ score, voidReason }) => score !== null && voidReason === null).length,
    discarded: own.filter(({ verdict }) => verdict?.kind === 'discard').length,
    voided: own.filter(({ score, voidReason }) => score !== null && voidReason !== null).length,
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
    voided: line.voided_at !== null,
    calls: line.call_count,
  };
}

export function summaryOfOutline(outline: Outline): RolloutSummary {
  const { rolloutId, run, attempt, environment, verdict, score, voidReason, calls } = outline;
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
    voided: voidReason !== null,
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
