import type { PoolStore } from '../ports/fleet/pool.ts';
import type { PoolPlan, PoolPlans } from './plans.ts';

/**
 * A template that no environment here uses any more keeps its warm sandboxes this long: while a new version is rolled
 * out, controllers of both versions run, and must not destroy what the other has just made.
 */
export const unwantedAfterMs = 120_000;

/** How old an unclaimed warm sandbox may grow, and how many may be there at all. */
export function retirement(plan: PoolPlan): { readonly maxAgeMs: number; readonly keepReady: number } {
  if (plan.wanted) return { maxAgeMs: plan.maxAgeMs, keepReady: plan.minReady };
  // No number is too many here: only their age sends them away.
  return { maxAgeMs: Math.min(plan.maxAgeMs, unwantedAfterMs), keepReady: Number.MAX_SAFE_INTEGER };
}

/** Sends what is too old, too many or no longer wanted to draining; the supply replaces what is missing. Returns how many. */
export async function retireOld(pool: Pick<PoolStore, 'retire'>, plans: PoolPlans): Promise<number> {
  let retired = 0;
  for (const [template, plan] of plans) {
    const { maxAgeMs, keepReady } = retirement(plan);
    retired += await pool.retire(template, maxAgeMs, keepReady);
  }
  return retired;
}
