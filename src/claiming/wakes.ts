import type { RolloutKey } from '../model/rollout.ts';
import type { ClaimStore } from '../ports/fleet/claims.ts';

/** One subscription to fleet state's wake-ups, handed to whoever waits for that rollout. A hint only: re-read. */
export class Wakes {
  readonly #byKey = new Map<RolloutKey, Set<() => void>>();
  readonly #stop: () => void;

  constructor(claims: Pick<ClaimStore, 'onWake'>) {
    this.#stop = claims.onWake((key) => this.wake(key));
  }

  /** Calls `listener` at every wake-up of the rollout, until the function that it returns is called. */
  on(key: RolloutKey, listener: () => void): () => void {
    const listeners = this.#byKey.get(key) ?? new Set();
    this.#byKey.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#byKey.get(key) === listeners) this.#byKey.delete(key);
    };
  }

  wake(key: RolloutKey): void {
    for (const listener of this.#byKey.get(key) ?? []) listener();
  }

  close(): void {
    this.#stop();
  }
}
