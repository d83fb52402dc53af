import type { TemplateDigest } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { KnownSandbox, PoolStore } from '../ports/fleet/pool.ts';
import type { KnownSandboxes } from './known-sandboxes.ts';
import type { PoolPlan, PoolPlans } from './plans.ts';

/**
 * A template that no environment here uses any more keeps its warm sandboxes this long: while a new version is rolled
 * out, controllers of both versions run, and must not destroy what the other has just made.
 */
export const unwantedAfterMs = 120_000;

/** Redis says how old a sandbox is; our clock, which only says whom to ask about, is near it and not the same. */
const clocksApartMs = 30_000;

/** How old an unclaimed warm sandbox may grow, and how many may be there at all. */
export function retirement(plan: PoolPlan): { readonly maxAgeMs: number; readonly keepReady: number } {
  if (plan.wanted) return { maxAgeMs: plan.maxAgeMs, keepReady: plan.minReady };
  // No number is too many here: only their age sends them away.
  return { maxAgeMs: Math.min(plan.maxAgeMs, unwantedAfterMs), keepReady: Number.MAX_SAFE_INTEGER };
}

export type RetireTools = {
  readonly pool: Pick<PoolStore, 'retire'>;
  readonly known: KnownSandboxes;
  readonly clock: Pick<Clock, 'nowMs'>;
};

/**
 * Sends what is too old, too many or no longer wanted to draining; the supply replaces what is missing. Asks only about
 * templates of which something may go: there may be thousands. Returns how many went.
 */
export async function retireOld({ pool, known, clock }: RetireTools, plans: PoolPlans): Promise<number> {
  const spare = spareOf((await known.read()).values());
  let retired = 0;
  for (const [template, { count, sinceMs }] of spare) {
    const plan = plans.get(template);
    if (plan === undefined) continue;
    const { maxAgeMs, keepReady } = retirement(plan);
    const ageMs = clock.nowMs() - sinceMs + clocksApartMs;
    if (count > keepReady || ageMs >= maxAgeMs) retired += await pool.retire(template, maxAgeMs, keepReady);
  }
  return retired;
}

/** Ready and nobody's. `sinceMs`: of the oldest. */
type Spare = { readonly count: number; readonly sinceMs: number };

function spareOf(known: Iterable<KnownSandbox>): ReadonlyMap<TemplateDigest, Spare> {
  const spare = new Map<TemplateDigest, Spare>();
  for (const { phase, owner, template, sinceMs } of known) {
    if (phase !== 'ready' || owner !== null) continue;
    const { count, sinceMs: oldestMs } = spare.get(template) ?? { count: 0, sinceMs };
    spare.set(template, { count: count + 1, sinceMs: Math.min(oldestMs, sinceMs) });
  }
  return spare;
}
