import type { Clock } from '../ports/clock.ts';

/** A moment after which waiting is pointless, on the monotonic clock. */
export class Deadline {
  readonly #clock: Clock;
  readonly #atMs: number;

  private constructor(clock: Clock, atMs: number) {
    this.#clock = clock;
    this.#atMs = atMs;
  }

  static in(clock: Clock, durationMs: number): Deadline {
    return new Deadline(clock, clock.monotonicMs() + durationMs);
  }

  /** The earlier of this one and `durationMs` from now. */
  orIn(durationMs: number): Deadline {
    return new Deadline(this.#clock, Math.min(this.#atMs, this.#clock.monotonicMs() + durationMs));
  }

  /** The later of this one and `durationMs` from now. */
  orLaterIn(durationMs: number): Deadline {
    return new Deadline(this.#clock, Math.max(this.#atMs, this.#clock.monotonicMs() + durationMs));
  }

  /** This one, moved `durationMs` earlier. */
  earlier(durationMs: number): Deadline {
    return new Deadline(this.#clock, this.#atMs - durationMs);
  }

  /** This one, moved `durationMs` later. */
  later(durationMs: number): Deadline {
    return new Deadline(this.#clock, this.#atMs + durationMs);
  }

  /** Whole milliseconds, because timers and signals take no others. */
  get remainingMs(): number {
    return Math.max(0, Math.ceil(this.#atMs - this.#clock.monotonicMs()));
  }

  get passed(): boolean {
    return this.remainingMs === 0;
  }
}

/** The result, or `late` when the deadline comes first; then it is still on its way, and nobody hears how it ends. */
export async function inTime<Result>(
  clock: Clock,
  deadline: Deadline,
  result: Promise<Result>,
): Promise<Result | 'late'> {
  const settled = new AbortController();
  const timeIsUp = clock.sleep(deadline.remainingMs, settled.signal).then(() => 'late' as const);
  result.catch(() => undefined);
  try {
    return await Promise.race([result, timeIsUp]);
  } finally {
    // With a reason at hand no error is made, which each call would pay for.
    settled.abort('settled');
  }
}
