import type { FailureCode } from '../failure/codes.ts';
import type { Clock } from '../ports/clock.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import { type VerdictCounts, verdictsOfMs } from '../ports/fleet/watch.ts';

type Said = 'scorable' | FailureCode;

/** Fine enough that what leaves the window is not seen to leave in lumps. */
const sliceMs = 10_000;
const slices = verdictsOfMs / sliceMs;

/**
 * The verdicts that this process told in the last five minutes. Codes are those of the failure table, so what it holds
 * has a bound, whatever a policy or a caller does.
 */
export class RecentVerdicts {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** By the number of their slice of time, the newest last. */
  readonly #counted = new Map<number, Map<Said, number>>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  told(event: FleetEvent): void {
    if (event.kind !== 'verdict') return;
    const said = event.verdict.kind === 'scorable' ? 'scorable' : event.verdict.code;
    const now = this.#now();
    const slice = this.#counted.get(now) ?? new Map<Said, number>();
    slice.set(said, (slice.get(said) ?? 0) + 1);
    this.#counted.set(now, slice);
    this.#forget(now);
  }

  counts(): VerdictCounts {
    this.#forget(this.#now());
    const sums: Partial<Record<Said, number>> = {};
    for (const slice of this.#counted.values())
      for (const [said, count] of slice) sums[said] = (sums[said] ?? 0) + count;
    return sums;
  }

  #now(): number {
    return Math.floor(this.#clock.monotonicMs() / sliceMs);
  }

  #forget(now: number): void {
    for (const slice of this.#counted.keys()) if (slice <= now - slices) this.#counted.delete(slice);
  }
}
