import { FleetAnswer } from '#src/protocol/native/fleet.ts';
import type { FleetHistoryAnswer } from '#src/protocol/console/fleet.ts';
import type { Clock } from '#src/ports/clock.ts';
import { coarse, FleetReadings, readingOf } from './fleet-readings.ts';
import type { Gateway } from './gateway.ts';

/** Whose rights a fleet is read with. */
type Session = { readonly key: string; readonly gateway: Pick<Gateway, 'ask'> };

/** A fleet that no page was asked for in this time is not read any more. */
const idleMs = 2 * 60 * 60 * 1_000;
/** A key sees its own tenant or all, so each has its own; the one that was used longest ago makes room. */
const mostHistories = 50;

type History = {
  readonly readings: FleetReadings;
  usedAtMs: number;
  /** Whose session reads it between pages; null: it is not read. */
  reader: { readonly session: Session; readonly ends: AbortController } | null;
};

/** What fleets were like while someone was logged in, in memory: pages read them, and between pages the console does. */
export class FleetHistories {
  readonly #clock: Clock;
  readonly #all = new Map<string, History>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The fleet now, which is a reading of its history, too. */
  async read(session: Session): Promise<FleetAnswer> {
    const history = this.follow(session);
    const answer = await session.gateway.ask('/v1/fleet', FleetAnswer);
    history.readings.add(readingOf(answer, this.#clock.nowMs()));
    return answer;
  }

  past(session: Session, minutes: number): FleetHistoryAnswer {
    return this.follow(session).readings.of(minutes, this.#clock.nowMs());
  }

  /** Someone with this key is there: its fleet is read from now on. */
  follow(session: Session): History {
    const history = this.#all.get(session.key) ?? this.#begin(session.key);
    history.usedAtMs = this.#clock.monotonicMs();
    if (history.reader === null) void this.#readOn(session, history);
    return history;
  }

  /** Its readings stay, for the next session of the same key. */
  leave(session: Session): void {
    const reader = this.#all.get(session.key)?.reader;
    if (reader?.session === session) reader.ends.abort();
  }

  close(): void {
    for (const { reader } of this.#all.values()) reader?.ends.abort();
    this.#all.clear();
  }

  #begin(key: string): History {
    const oldest = [...this.#all].toSorted(([, one], [, other]) => one.usedAtMs - other.usedAtMs)[0];
    if (oldest !== undefined && this.#all.size >= mostHistories) {
      oldest[1].reader?.ends.abort();
      this.#all.delete(oldest[0]);
    }
    const history: History = { readings: new FleetReadings(), usedAtMs: 0, reader: null };
    this.#all.set(key, history);
    return history;
  }

  async #readOn(session: Session, history: History): Promise<void> {
    const ends = new AbortController();
    history.reader = { session, ends };
    while (!ends.signal.aborted && this.#clock.monotonicMs() - history.usedAtMs < idleMs) {
      // A gateway that is away leaves a gap.
      const answer = await session.gateway.ask('/v1/fleet', FleetAnswer).catch(() => null);
      if (answer !== null) history.readings.add(readingOf(answer, this.#clock.nowMs()));
      await this.#clock.sleep(coarse.everyMs, ends.signal);
    }
    history.reader = null;
  }
}
