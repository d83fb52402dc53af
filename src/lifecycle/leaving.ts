import type { SandboxAccount } from '../pool/sandbox-account.ts';
import type { PoolStore } from '../ports/fleet/pool.ts';
import { eachOf } from '../waiting/each-of.ts';

/** Thousands may leave with their nodes at once, and until it is taken out each may still be granted. */
const width = 16;

/**
 * Sandboxes that will not stay where they are: their node is cordoned, drained, marked by an autoscaler or silent, or
 * their pod is marked for deletion. Free ones, and those that still start, are taken out of the pool, which replaces
 * them elsewhere; one that a rollout holds is left to it, for as long as it is there.
 *
 * Once is enough: a sandbox that somebody holds never comes back to the pool. What fleet state did not answer for is left
 * for the next time. Returns how many were taken out.
 */
export async function withdrawLeaving(
  pool: Pick<PoolStore, 'withdraw'>,
  { leaving }: SandboxAccount,
): Promise<number> {
  let withdrawn = 0;
  await eachOf([...leaving], width, async ([sandbox, why]) => {
    if (await pool.withdraw(sandbox, why)) withdrawn += 1;
    leaving.delete(sandbox);
  });
  return withdrawn;
}
