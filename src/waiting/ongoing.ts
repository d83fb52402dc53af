import type { Clock } from '../ports/clock.ts';
import { type Deadline, inTime } from './deadline.ts';

export type Joined<Result> = { readonly result: Promise<Result>; readonly joined: boolean };

/**
 * Work that this process is doing, by name. It belongs to nobody's request: a client that goes away, or a request whose
 * time is up, leaves it running, and a repeat joins it.
 */
export class Ongoing<Result> {
  readonly #clock: Clock;
  readonly #byName = new Map<string, Promise<Result>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#byName.size;
  }

  join(name: string, start: () => Promise<Result>): Joined<Result> {
    const underway = this.#byName.get(name);
    if (underway !== undefined) return { result: underway, joined: true };
    const result = start().finally(() => this.#byName.delete(name));
    // Nobody may be waiting any more when it fails; the failure is in fleet state for the repeat.
    result.catch(() => undefined);
    this.#byName.set(name, result);
    return { result, joined: false };
  }

  /** What is under way under that name; null: nothing. */
  find(name: string): Promise<Result> | null {
    return this.#byName.get(name) ?? null;
  }

  /** The result, or `still_running` when the deadline comes first. */
  async until(result: Promise<Result>, deadline: Deadline): Promise<Result | 'still_running'> {
    const seen = await inTime(this.#clock, deadline, result);
    return seen === 'late' ? 'still_running' : seen;
  }

  /** Resolves when nothing is under way any more; for a process that stops. */
  async idle(): Promise<void> {
    while (this.#byName.size > 0) await Promise.allSettled(this.#byName.values());
  }
}
