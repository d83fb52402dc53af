import { hashText } from './chance.ts';

/** What will happen; `who` and `what` are part of the trace by which two runs are compared. */
type Happening = {
  readonly atMs: number;
  readonly order: number;
  readonly who: string;
  readonly what: string;
  run: (() => void | Promise<void>) | null;
};

export type Scheduled = { readonly cancel: () => void };

/**
 * The only source of progress in the world. Whatever waits for time, Redis, a network or a process is a happening at a
 * moment; the earliest runs alone, and everything it set free runs on until it waits again. So a run is the same every
 * time although a real Redis takes part in it: nothing else is ever in flight.
 */
export class Scheduler {
  readonly #queue: Happening[] = [];
  #nowMs = 0;
  #order = 0;
  #steps = 0;
  #trace = 0;

  get nowMs(): number {
    return this.#nowMs;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Two runs with the same hash did the same things at the same moments. */
  get traceHash(): string {
    return this.#trace.toString(16).padStart(8, '0');
  }

  after(delayMs: number, who: string, what: string, run: () => void | Promise<void>): Scheduled {
    const atMs = this.#nowMs + Math.max(0, Math.ceil(delayMs));
    this.#order += 1;
    const happening: Happening = { atMs, order: this.#order, who, what, run };
    push(this.#queue, happening);
    return { cancel: () => void (happening.run = null) };
  }

  /** Adds something to the trace that is not a happening. */
  mark(text: string): void {
    this.#trace = hashText(text, this.#trace ^ this.#nowMs);
  }

  /** Runs the next happening; false when nothing will ever happen again. */
  async step(): Promise<boolean> {
    for (;;) {
      const next = pop(this.#queue);
      if (next === undefined) return false;
      if (next.run === null) continue;
      this.#nowMs = next.atMs;
      this.#steps += 1;
      this.mark(`${next.who} ${next.what}`);
      await next.run();
      await drained();
      return true;
    }
  }
}

/** Everything that was set free has run until it waits again: ticks come after all that was promised, and cost no turn. */
const drained = () =>
  new Promise<void>((resolve) => {
    process.nextTick(resolve);
  });

const isBefore = (one: Happening, other: Happening) =>
  one.atMs === other.atMs ? one.order < other.order : one.atMs < other.atMs;

/** The queue is a binary heap: some hundred timers wait at any moment, most of them to be cancelled. */
function push(heap: Happening[], added: Happening): void {
  let at = heap.length;
  heap.push(added);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !isBefore(added, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = added;
}

function pop(heap: Happening[]): Happening | undefined {
  const [first] = heap;
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    const child = smallerChild(heap, at);
    const below = heap[child];
    if (below === undefined || !isBefore(below, last)) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = last;
  return first;
}

function smallerChild(heap: readonly Happening[], at: number): number {
  const left = 2 * at + 1;
  const [one, other] = [heap[left], heap[left + 1]];
  return one !== undefined && other !== undefined && isBefore(other, one) ? left + 1 : left;
}
