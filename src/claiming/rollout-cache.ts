import type { Environment } from '../model/environment.ts';
import type { RolloutKey } from '../model/rollout.ts';
import type { ClaimRequest } from '../ports/fleet/claims.ts';
import type { ExposedItem } from '../tools/exposed-item.ts';

/** What is needed to claim for a rollout again, and to run calls in it. */
export type CachedRollout = {
  readonly claim: ClaimRequest;
  readonly environment: Environment;
  /** The fields of its dataset row that may enter the sandbox. */
  readonly exposed: ExposedItem;
};

/** Two bursts of the largest size; the oldest goes first, and costs its rollout one extra round trip. */
const mostRemembered = 4_096;
/** Their dataset rows may be 1 MB each: an eighth of what the chart requests for a gateway. Most characters are one byte. */
const mostRowCharacters = 64 * 1024 * 1024;

/**
 * Rollouts that this process has claimed for, so that later calls go straight to admission. A memory of what cannot
 * change (a rollout's environment and version); everything that can is asked of fleet state each time.
 */
export class RolloutCache {
  readonly #byKey = new Map<RolloutKey, CachedRollout>();
  #rowCharacters = 0;

  get(key: RolloutKey): CachedRollout | undefined {
    return this.#byKey.get(key);
  }

  remember(key: RolloutKey, rollout: CachedRollout): void {
    this.forget(key);
    this.#byKey.set(key, rollout);
    this.#rowCharacters += rowCharacters(rollout);
    for (const oldest of this.#byKey.keys()) {
      if (this.#byKey.size <= mostRemembered && this.#rowCharacters <= mostRowCharacters) break;
      this.forget(oldest);
    }
  }

  forget(key: RolloutKey): void {
    const forgotten = this.#byKey.get(key);
    if (forgotten === undefined) return;
    this.#byKey.delete(key);
    this.#rowCharacters -= rowCharacters(forgotten);
  }
}

const rowCharacters = ({ claim }: CachedRollout): number => claim.item?.length ?? 0;
