import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import type { RolloutStory } from '#src/reports/rollout-story.ts';

/** Of a rollout's story, what lists and sums need: they are of tens of thousands, whose events are hundreds of megabytes. */
export type Outline = Pick<
  RolloutStory,
  'rolloutId' | 'run' | 'attempt' | 'environment' | 'verdict' | 'score' | 'suspected'
> & {
  readonly calls: number;
  /** Of the last call whose command is known. */
  readonly lastCommand: string | null;
};

/** What is known of one so far; each part is of the latest event that tells it, in whatever order they come. */
type Draft = {
  readonly key: RolloutKey;
  firstAtMs: number;
  calls: number;
  readonly environment: Latest<string>;
  readonly verdict: Latest<Extract<RolloutEvent, { kind: 'verdict' }> | null>;
  readonly command: Latest<string | null>;
};

/** Two kilobytes each. The newest files are read first, so what is left out is the oldest. */
export const mostRollouts = 100_000;

/** Makes outlines of events as they come, and keeps none of the events. */
export class Outlines {
  readonly #drafts = new Map<RolloutKey, Draft>();
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

  /** In the order of their first events. */
  get all(): readonly Outline[] {
    return [...this.#drafts.values()].toSorted((a, b) => a.firstAtMs - b.firstAtMs).map(outlineOf);
  }
}

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
  environment: new Latest(''),
  verdict: new Latest<Extract<RolloutEvent, { kind: 'verdict' }> | null>(null),
  command: new Latest<string | null>(null),
});

function note(draft: Draft, event: RolloutEvent): void {
  const { atMs } = event;
  draft.firstAtMs = Math.min(draft.firstAtMs, atMs);
  draft.environment.note(event.environment, atMs);
  if (event.kind === 'verdict') draft.verdict.note(event, atMs);
  // Fleet state settled the call, and does not know the command; the gateway that had sent it does.
  if (event.kind === 'lost_command') draft.command.note(event.command, atMs);
  if (event.kind !== 'call_settled') return;
  draft.calls += 1;
  if (event.lastCommand !== '') draft.command.note(event.lastCommand, event.summary.startedAtMs);
}

function outlineOf({ key, environment, verdict, command, calls }: Draft): Outline {
  const { rollout: rolloutId, run, attempt } = ownerOf(key);
  return {
    rolloutId,
    run,
    attempt,
    environment: environment.value,
    verdict: verdict.value?.verdict ?? null,
    score: verdict.value?.score ?? null,
    suspected: verdict.value?.suspected ?? null,
    calls,
    lastCommand: command.value,
  };
}
