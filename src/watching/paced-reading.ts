import type { Clock } from '../ports/clock.ts';

/** What a person follows with his eyes. */
const leastRestMs = 1_000;

/** Watching takes at most this share of Redis' time, over all gateways that are asked. */
const shareOfRedis = 0.05;

/**
 * How long after a reading has begun the next may begin, in milliseconds. Each gateway reads for itself, so each has its part of
 * the share.
 */
export const restAfter = (costMs: number, gateways: number): number =>
  Math.max(leastRestMs, (costMs / shareOfRedis) * Math.max(1, gateways));

export type Paced<Reading> = {
  readonly reading: Reading;
  /** How old it is. */
  readonly ageMs: number;
  /** When a newer one can be had. */
  readonly nextInMs: number;
};

export type PacedOptions<Reading> = {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly read: () => Promise<Reading>;
  readonly restMs: (reading: Reading) => number;
};

/**
 * However many ask, and however often: one reading at a time, and the next after the rest that it asks for. Until then
 * everybody gets the last one, with its age; or the error that it ended with, after which there is a rest as well.
 */
export class PacedReading<Reading> {
  readonly #options: PacedOptions<Reading>;
  #last: { readonly begunMs: number; readonly restMs: number; readonly get: () => Reading } | null = null;
  #underWay: Promise<void> | null = null;

  constructor(options: PacedOptions<Reading>) {
    this.#options = options;
  }

  /** Throws what reading threw. */
  async get(): Promise<Paced<Reading>> {
    const { clock } = this.#options;
    const isDue = this.#last === null || clock.monotonicMs() - this.#last.begunMs >= this.#last.restMs;
    if (isDue) await (this.#underWay ??= this.#read());
    if (this.#last === null) throw new Error('a reading ended without a result');
    const { begunMs, restMs, get } = this.#last;
    const ageMs = clock.monotonicMs() - begunMs;
    return { reading: get(), ageMs, nextInMs: Math.max(0, restMs - ageMs) };
  }

  async #read(): Promise<void> {
    const { clock, read, restMs } = this.#options;
    const begunMs = clock.monotonicMs();
    try {
      const reading = await read();
      this.#last = { begunMs, restMs: restMs(reading), get: () => reading };
    } catch (thrown) {
      // Nobody knows what it cost: at least, it is not asked more than half of the time.
      const tookMs = clock.monotonicMs() - begunMs;
      const rethrow = () => {
        throw thrown;
      };
      this.#last = { begunMs, restMs: Math.max(leastRestMs, 2 * tookMs), get: rethrow };
    } finally {
      this.#underWay = null;
    }
  }
}
