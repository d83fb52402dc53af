import type { RolloutKey } from '../model/rollout.ts';
import type { Clock } from '../ports/clock.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';
import type { Grant, WakeUp } from '../ports/fleet/wake-ups.ts';
import type { Deadline } from '../waiting/deadline.ts';

/** A waiter counts as there for ten seconds, so several renewals in a row may be late. */
const renewIntervalMs = 2_000;

/**
 * Where requests are held until their rollout has its sandbox. It says "still here" for all of them every two
 * seconds, and the same script tells which were granted: heartbeat and re-read in one, so that a lost wake-up message costs
 * two seconds and not a rollout. Messages make it quick; the renewal makes it sure.
 */
export class WaitingRoom {
  readonly #claims: Pick<ClaimStore, 'renew'>;
  readonly #wakes: Wakes;
  readonly #clock: Clock;
  readonly #onTrouble: (error: unknown) => void;
  /** How many requests are here for each rollout. */
  readonly #seats = new Map<RolloutKey, number>();
  /** Of those who wait to be granted: how to make them look. Whose sandbox is being prepared is not to be disturbed by its own renewal. */
  readonly #wakeUps = new Map<RolloutKey, Set<Listener>>();
  readonly #stopping = new AbortController();
  #heartbeat: Promise<void> | null = null;

  constructor(
    claims: Pick<ClaimStore, 'renew'>,
    wakes: Wakes,
    clock: Clock,
    onTrouble: (error: unknown) => void,
  ) {
    this.#claims = claims;
    this.#wakes = wakes;
    this.#clock = clock;
    this.#onTrouble = onTrouble;
  }

  /** Rollouts with somebody here. */
  get size(): number {
    return this.#seats.size;
  }

  /**
   * Asks `read` until it answers something else than null, each time the rollout's place may have changed; but a wake-up with a grant goes
   * to `take`, and `read` is asked only if that returns null. It listens
   * before the first look, so a wake-up between look and wait is not missed. Null: the deadline passed. Nobody looks once
   * more then: whoever was not woken since his last renewal still waits, and a burst that was in vain gives up together.
   */
  async hold<Result>(
    key: RolloutKey,
    deadline: Deadline,
    read: () => Promise<Result | null>,
    take: (grant: Grant) => Result | null = () => null,
  ): Promise<Result | null> {
    let wake = new AbortController();
    let grant: Grant | null = null;
    const look = (wakeUp: WakeUp) => {
      grant = wakeUp.kind === 'granted' ? wakeUp.grant : null;
      wake.abort();
    };
    const taken = (): Result | null => {
      const given = grant;
      grant = null;
      return given === null ? null : take(given);
    };
    const stopListening = this.#wakes.on(key, look);
    const wakeUps = this.#wakeUps.get(key) ?? new Set();
    this.#wakeUps.set(key, wakeUps.add(look));
    try {
      for (;;) {
        const result = taken() ?? (await read());
        if (result !== null || deadline.passed) return result;
        await this.attend(key, () => this.#clock.sleep(deadline.remainingMs, wake.signal));
        if (!wake.signal.aborted) return null;
        wake = new AbortController();
      }
    } finally {
      stopListening();
      wakeUps.delete(look);
      if (wakeUps.size === 0 && this.#wakeUps.get(key) === wakeUps) this.#wakeUps.delete(key);
    }
  }

  /** Says "still here" for the rollout while the work lasts: a grant that nobody renews is taken back. */
  async attend<Result>(key: RolloutKey, work: () => Promise<Result>): Promise<Result> {
    this.#seats.set(key, (this.#seats.get(key) ?? 0) + 1);
    this.#heartbeat ??= this.#beat();
    try {
      return await work();
    } finally {
      const left = (this.#seats.get(key) ?? 1) - 1;
      if (left === 0) this.#seats.delete(key);
      else this.#seats.set(key, left);
    }
  }

  async close(): Promise<void> {
    this.#stopping.abort();
    await this.#heartbeat;
  }

  /** Runs while anybody is here. */
  async #beat(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#clock.sleep(renewIntervalMs, this.#stopping.signal);
      if (this.#seats.size === 0) break;
      await this.#renewAll().catch(this.#onTrouble);
    }
    this.#heartbeat = null;
  }

  async #renewAll(): Promise<void> {
    for (const key of await this.#claims.renew([...this.#seats.keys()])) this.#wake(key);
  }

  #wake(key: RolloutKey): void {
    for (const look of this.#wakeUps.get(key) ?? []) look({ kind: 'unknown' });
  }
}

type Listener = (wakeUp: WakeUp) => void;

/** One subscription to fleet state's wake-ups, each given to the listeners of its rollout. */
export class Wakes {
  readonly #byKey = new Map<RolloutKey, Set<Listener>>();
  readonly #stop: () => void;

  constructor(claims: Pick<ClaimStore, 'onWake'>) {
    this.#stop = claims.onWake((key, wakeUp) => this.wake(key, wakeUp));
  }

  /** Calls `listener` at every wake-up of the rollout, until the function that it returns is called. */
  on(key: RolloutKey, listener: Listener): () => void {
    const listeners = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#byKey.get(key) === listeners) this.#byKey.delete(key);
    };
  }

  wake(key: RolloutKey, wakeUp: WakeUp): void {
    for (const listener of this.#byKey.get(key) ?? []) listener(wakeUp);
  }

  close(): void {
    this.#stop();
  }
}
