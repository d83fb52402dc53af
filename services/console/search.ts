import { setImmediate as nextTurn } from 'node:timers/promises';
import { Failure } from '#src/failure/failure.ts';
import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { SearchAnswer } from '#src/protocol/console/run.ts';
import type { RunView } from '#src/reports/digest/view.ts';
import type { KeptTexts } from './call-texts.ts';

type Searched = { readonly view: RunView; readonly rev: number };

const mostRows = 5_000;

/** Rollouts with this text in a command, as far as the log has commands: their first 200 characters. Capitals count as small letters. */
export function searchCommands({ view, rev }: Searched, text: string): SearchAnswer {
  const has = finderOf(text);
  const rows = view.rollouts.flatMap(({ calls }, row) =>
    calls.some((call) => has(call.arguments)) ? [row] : [],
  );
  return answerOf(rows, rev);
}

export const finderOf = (wanted: string): ((text: string | null | undefined) => boolean) => {
  const small = wanted.toLowerCase();
  return (text) => text?.toLowerCase().includes(small) === true;
};

const answerOf = (rows: readonly number[], rev: number) => ({
  rows: rows.slice(0, mostRows),
  rev,
  left_out: Math.max(0, rows.length - mostRows),
});

/** A person waits for it, and a store may have gigabytes of a run. */
const longestMs = 10_000;
/** Each unpacks and reads as fast as it can. */
const mostAtOnce = 2;
/** Texts between two turns of the event loop. */
const textsAtOnce = 200;

/** Searches in what calls asked for and returned, as far as it is kept. */
export class TextSearches {
  readonly #texts: KeptTexts;
  readonly #clock: Clock;
  #running = 0;

  constructor(texts: KeptTexts, clock: Clock) {
    this.#texts = texts;
    this.#clock = clock;
  }

  /** Rollouts with this text in a command or an output. */
  async search(searched: Searched, text: string): Promise<SearchAnswer> {
    if (this.#running >= mostAtOnce)
      throw new Failure('gateway_overloaded', 'others search in outputs now; try again in a few seconds');
    this.#running += 1;
    try {
      return await this.#search(searched, text);
    } finally {
      this.#running -= 1;
    }
  }

  async #search(searched: Searched, text: string): Promise<SearchAnswer> {
    const rows = new Set(searchCommands(searched, text).rows);
    const rowOf = new Map(searched.view.rollouts.map(({ key }, row) => [key, row]));
    const [first] = rowOf.keys();
    const read = first === undefined ? nothing : await this.#read(first, finderOf(text), rowOf, rows);
    const inOrder = [...rows].toSorted((one, other) => one - other);
    return { ...answerOf(inOrder, searched.rev), outputs: read };
  }

  /** `first`: any rollout of the run, which says whose it is. */
  async #read(
    first: RolloutKey,
    has: ReturnType<typeof finderOf>,
    rowOf: ReadonlyMap<RolloutKey, number>,
    rows: Set<number>,
  ): Promise<NonNullable<SearchAnswer['outputs']>> {
    const endsMs = this.#clock.monotonicMs() + longestMs;
    const read = new Set<RolloutKey>();
    const unreadable: string[] = [];
    let texts = 0;
    for await (const { key, arguments: asked, output } of this.#texts.ofRun(ownerOf(first), unreadable)) {
      const row = rowOf.get(key);
      if (row === undefined) continue;
      read.add(key);
      if (has(asked?.text) || has(output?.text)) rows.add(row);
      texts += 1;
      if (texts % textsAtOnce === 0) await nextTurn();
      if (this.#clock.monotonicMs() > endsMs) return { rollouts: read.size, whole: false };
    }
    return { rollouts: read.size, whole: unreadable.length === 0 };
  }
}

const nothing = { rollouts: 0, whole: true };
