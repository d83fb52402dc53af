import type { SandboxId } from '../model/ids.ts';
import type { PoolStore } from '../ports/fleet/pool.ts';
import type { ProviderEvent } from '../ports/sandbox-provider.ts';
import { eachOf } from '../waiting/each-of.ts';

/**
 * Sandboxes that will not stay where they are: their node is cordoned, drained, marked by an autoscaler or silent, or
 * their pod is marked for deletion. Free ones, and those that still start, are taken out of the pool, which replaces
 * them elsewhere; one that a rollout holds is left to it, for as long as it is there.
 *
 * Once is enough: a sandbox that somebody holds never comes back to the pool.
 */
export type Leaving = {
  /** Notes an event of the provider's watch; never waits. */
  apply(event: ProviderEvent): void;
  /** Takes out what was told; whatever fleet state did not answer for is left for the next time. Returns how many. */
  withdraw(): Promise<number>;
};

/** Thousands may leave with their nodes at once, and until it is taken out each may still be granted. */
const width = 16;

export function createLeaving(pool: Pick<PoolStore, 'withdraw'>): Leaving {
  const told = new Map<SandboxId, string>();
  return {
    apply: (event) => {
      if (event.kind === 'leaving') told.set(event.sandbox, event.why);
      else if (event.kind === 'gone') told.delete(event.sandbox);
    },
    withdraw: async () => {
      let withdrawn = 0;
      await eachOf([...told], width, async ([sandbox, why]) => {
        if (await pool.withdraw(sandbox, why)) withdrawn += 1;
        told.delete(sandbox);
      });
      return withdrawn;
    },
  };
}
