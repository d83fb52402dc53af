import type { RolloutKey } from '../model/rollout.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { Deadline } from '../waiting/deadline.ts';

/**
 * Where requests of rollouts in line are held. It says "still here" for all of them once a second in one script a
 * batch, and that same script tells which were granted: heartbeat and re-read in one, so that a lost wake-up message
 * costs a second and not a rollout. Messages make it quick; the second makes it sure.
 */
export class WaitingRoom {
  readonly #claims: Pick<ClaimStore, 'renew' | 'onWake'>;
  readonly #clock: Clock;
  readonly #onTrouble: (error: unknown) => void;
  readonly #seats = new Map<RolloutKey, Set<Seat>>();
  readonly #stopping = new AbortController();
  readonly #stopWake: () => void;
  #heartbeat: Promise<void> | null = null;

  constructor(
    claims: Pick<ClaimStore, 'renew' | 'onWake'>,
    clock: Clock,
    onTrouble: (error: unknown) => void,
  ) {
    this.#claims = claims;
    this.#clock = clock;
    this.#onTrouble = onTrouble;
    this.#stopWake = claims.onWake((key) => this.#wake(key));
  }

  /** Rollouts with somebody waiting here. */
  get size(): number {
    return this.#seats.size;
  }

  /**
   * Asks `read` until it answers something else than null, each time the rollout's place may have changed. The seat is
   * taken before the first look, so a wake-up between look and wait is not missed. Null: the deadline passed.
   */
  async hold<Result>(
    key: RolloutKey,
    deadline: Deadline,
    read: () => Promise<Result | null>,
  ): Promise<Result | null> {
    const seat = this.#take(key);
    try {
      for (;;) {
        const result = await read();
        if (result !== null || deadline.passed) return result;
        await seat.woken(this.#clock, deadline);
      }
    } finally {
      this.#leave(key, seat);
    }
  }

  async close(): Promise<void> {
    this.#stopWake();
    this.#stopping.abort();
    await this.#heartbeat;
  }

  #take(key: RolloutKey): Seat {
    const seat = new Seat();
    this.#seats.set(key, (this.#seats.get(key) ?? new Set()).add(seat));
    this.#heartbeat ??= this.#beat();
    return seat;
  }

  #leave(key: RolloutKey, seat: Seat): void {
    const seats = this.#seats.get(key);
    seats?.delete(seat);
    if (seats?.size === 0) this.#seats.delete(key);
  }

  #wake(key: RolloutKey): void {
    for (const seat of this.#seats.get(key) ?? []) seat.wake();
  }

  /** Runs while anybody waits. */
  async #beat(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#clock.sleep(renewIntervalMs, this.#stopping.signal);
      if (this.#seats.size === 0) break;
      await this.#renewAll().catch(this.#onTrouble);
    }
    this.#heartbeat = null;
  }

  async #renewAll(): Promise<void> {
    const keys = [...this.#seats.keys()];
    for (let start = 0; start < keys.length; start += renewBatch) {
      const states = await this.#claims.renew(keys.slice(start, start + renewBatch));
      for (const [key, state] of states) if (state.kind !== 'waiting') this.#wake(key);
    }
  }
}

const renewIntervalMs = 1_000;
/** Keeps one script under a few milliseconds, because Redis does nothing else meanwhile. */
const renewBatch = 250;

/** One held request. A wake-up that comes while it is not waiting is kept for its next wait. */
class Seat {
  #knock = new AbortController();

  wake(): void {
    this.#knock.abort();
  }

  async woken(clock: Clock, deadline: Deadline): Promise<void> {
    await clock.sleep(deadline.remainingMs, this.#knock.signal);
    this.#knock = new AbortController();
  }
}
