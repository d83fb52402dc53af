import type { Clock } from '../ports/clock.ts';
import { type FleetWatch, type ProcessWord, type VerdictCounts, verdictsOfMs } from '../ports/fleet/watch.ts';
import type { FailureCode } from '../failure/codes.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { FleetTimings } from './fleet-timings.ts';

/** Often enough that a process that died is seen within seconds; a word costs Redis some 20 µs. */
const tellMs = 2_000;

/** What it says again each time. */
export type Present = Pick<ProcessWord, 'state' | 'inHand' | 'atMost' | 'verdicts'>;

export type PresenceOptions = {
  readonly watch: Pick<FleetWatch, 'tell' | 'agree'>;
  readonly clock: Clock;
  readonly self: Pick<ProcessWord, 'kind' | 'host' | 'pid' | 'version' | 'isListed'>;
  /** Its name among all processes of the fleet, another one after every start. */
  readonly process: string;
  readonly present: () => Present;
  /** Compared with those of the fleet before the first word that says that it serves with them. */
  readonly timings: FleetTimings;
  /** Words that were not heard; the next one says all. */
  readonly onError: (thrown: unknown) => void;
  readonly signal: AbortSignal;
};

/** Neither rejects. `first`: of its first word, heard or not; `done`: of its last. */
export type Presence = { readonly first: Promise<void>; readonly done: Promise<void> };

/** Says every two seconds that this process is there, and at the end that it left. */
export function tellPresence(options: PresenceOptions): Presence {
  const { watch, clock, self, process, present, timings, onError, signal } = options;
  const begunMs = clock.monotonicMs();
  const wordOf = (now: Present): ProcessWord => {
    const ageMs = Math.round(clock.monotonicMs() - begunMs);
    return { ...self, ageMs, ...now, knowsDemands: true };
  };
  const tell = async (now: Present) => {
    try {
      if (timings.reason() !== null && now.state !== 'left') {
        const { unready: _, ...said } = timings.word();
        timings.compared(await watch.agree(process, { ...wordOf(now), ...said, agreed: true }));
        if (timings.reason() === null) return;
      }
      await watch.tell(process, { ...wordOf(now), ...timings.word() });
    } catch (thrown) {
      onError(thrown);
    }
  };
  const first = tell(present());
  const goOn = async () => {
    await first;
    for (;;) {
      await clock.sleep(tellMs, signal);
      if (signal.aborted) break;
      await tell(present());
    }
    await tell({ ...present(), state: 'left', inHand: {} });
  };
  return { first, done: goOn() };
}

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
