import type { Clock } from '../ports/clock.ts';
import type { DeedEvent, DeedKind, FleetEvent } from '../ports/event-log.ts';

/**
 * Of one kind and key in a minute. Nobody does as much by hand, and a run of 20,000 rollouts is closed by as many requests;
 * a flood is a line for each of the first, and one that counts the rest. Whoever shows no key that is known is one key, all
 * together.
 */
const toldEachMinute: Readonly<Record<DeedKind, number>> = {
  request_refused: 10,
  run_closed: 100,
  prewarm_announced: 100,
  keys_changed: 100,
};
export const ledgerMs = 60_000;

type Tally = { told: number; untold: number };

/** Tells events, deeds only so many of each kind and key a minute; what happened to rollouts is told as it is. */
export class DeedLedger {
  readonly #tell: (event: FleetEvent) => void;
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** Kinds by the keys that acted: no more than there are keys. */
  readonly #tallies = new Map<string, Tally & Pick<DeedEvent, 'keyId'> & { readonly of: DeedKind }>();
  #sinceMs: number;

  constructor(tell: (event: FleetEvent) => void, clock: Pick<Clock, 'nowMs'>) {
    this.#tell = tell;
    this.#clock = clock;
    this.#sinceMs = clock.nowMs();
  }

  readonly record = (event: FleetEvent): void => {
    if (!isDeed(event) || this.#hasRoom(event.kind, event.keyId)) this.#tell(event);
  };

  /** The minute is over: tells how much of it was not told, and begins the next. */
  turn(): void {
    const sinceMs = this.#sinceMs;
    this.#sinceMs = this.#clock.nowMs();
    const tallies = [...this.#tallies.values()];
    this.#tallies.clear();
    for (const { of, keyId, untold } of tallies) {
      if (untold === 0) continue;
      this.#tell({ kind: 'deeds_untold', atMs: this.#clock.nowMs(), keyId, of, count: untold, sinceMs });
    }
  }

  #hasRoom(of: DeedKind, keyId: string | null): boolean {
    const name = `${of} ${keyId ?? ''}`;
    const tally = this.#tallies.get(name) ?? { of, keyId, told: 0, untold: 0 };
    this.#tallies.set(name, tally);
    if (tally.told < toldEachMinute[of]) tally.told += 1;
    else tally.untold += 1;
    return tally.untold === 0;
  }
}

type Deed = Extract<FleetEvent, { readonly kind: DeedKind }>;

const isDeed = (event: FleetEvent): event is Deed => event.kind in toldEachMinute;
