import type { Environment } from '../model/environment.ts';
import type { RolloutKey } from '../model/rollout.ts';
import type { ClaimRequest } from '../ports/fleet/claims.ts';
import type { ExposedItem } from '../tools/exposed-item.ts';

/** What is needed to claim for a rollout again, and to run calls in it. */
export type Acquaintance = {
  readonly claim: ClaimRequest;
  readonly environment: Environment;
  /** The fields of its dataset row that may enter the sandbox. */
  readonly exposed: ExposedItem;
};

/** Two bursts of the largest size; the oldest goes first, and costs its rollout one extra round trip. */
const mostRemembered = 4_096;

/**
 * Rollouts that this process has claimed for, so that later calls go straight to admission. A memory of what cannot
 * change (a rollout's environment and version); everything that can is asked of fleet state each time.
 */
export class Acquaintances {
  readonly #byKey = new Map<RolloutKey, Acquaintance>();

  get(key: RolloutKey): Acquaintance | undefined {
    return this.#byKey.get(key);
  }

  remember(key: RolloutKey, acquaintance: Acquaintance): void {
    this.#byKey.delete(key);
    this.#byKey.set(key, acquaintance);
    const [oldest] = this.#byKey.keys();
    if (this.#byKey.size > mostRemembered && oldest !== undefined) this.#byKey.delete(oldest);
  }

  forget(key: RolloutKey): void {
    this.#byKey.delete(key);
  }
}
