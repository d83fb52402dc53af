import type { SandboxAccount } from './sandbox-account.ts';
import type { PoolStore, KnownSandbox } from '../ports/fleet/pool.ts';
import { eachOf } from '../waiting/each-of.ts';
import type { TemplateDigest, SandboxId } from '../model/ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { KnownSandboxes } from './known-sandboxes.ts';
import type { PoolPlan, PoolPlans } from './plans.ts';
import type { Log } from '../ports/log.ts';
import type { SandboxProvider } from '../ports/sandbox-provider.ts';
import type { Metrics } from '../ports/metrics.ts';

/** Sandboxes asked about at once. To the provider more would only queue there. */
const width = 16;

/**
 * Sandboxes that will not stay where they are: their node is cordoned, drained, marked by an autoscaler or silent, or
 * their pod is marked for deletion. Free ones, and those that still start, are taken out of the pool, which replaces
 * them elsewhere; one that a rollout holds is left to it, for as long as it is there.
 *
 * Several at once, as thousands may leave with their nodes, and until it is taken out each may still be granted. Once for
 * each is enough: a sandbox that somebody holds never comes back to the pool. What fleet state did not answer for is left
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

/**
 * A template that no environment here uses any more keeps its warm sandboxes this long: while a new version is rolled
 * out, controllers of both versions run, and must not destroy what the other has just made.
 */
export const unwantedAfterMs = 120_000;

/** Redis says how old a sandbox is; our clock, which only says whom to ask about, is near it and not the same. */
const clocksApartMs = 30_000;

/** How old an unclaimed warm sandbox may grow, and how many may be there at all. */
function retirement(plan: PoolPlan): { readonly maxAgeMs: number; readonly keepReady: number } {
  if (plan.wanted) return { maxAgeMs: plan.maxAgeMs, keepReady: plan.minReady };
  // No number is too many here: only their age sends them away.
  return { maxAgeMs: Math.min(plan.maxAgeMs, unwantedAfterMs), keepReady: Number.MAX_SAFE_INTEGER };
}

type RetireTools = {
  readonly pool: Pick<PoolStore, 'retire'>;
  readonly known: KnownSandboxes;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly plans: () => PoolPlans;
  /** Reads which templates rows and demands have made, for the plans. */
  readonly readChosen: () => Promise<void>;
};

/**
 * Sends what is too old, too many or no longer wanted to draining; the supply replaces what is missing. Asks only about
 * templates of which something may go: there may be thousands. Returns how many went.
 */
export async function retireOld(tools: RetireTools): Promise<number> {
  const { pool, known, clock, plans, readChosen } = tools;
  const spare = spareOf((await known.read()).values());
  // A controller that was started later than a sandbox may not have read its template.
  if ([...spare.keys()].some((template) => !plans().has(template))) await readChosen();
  let retired = 0;
  for (const [template, { count, sinceMs }] of spare) {
    const plan = plans().get(template);
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

type OverdueTools = {
  readonly pool: Pick<PoolStore, 'overdueLaunches'>;
  readonly provider: Pick<SandboxProvider, 'destroy'>;
  readonly log: Log;
};

/** Starts that hung, also those of a controller that died: their slots are free again, what they made is destroyed. */
export async function endOverdueLaunches({ pool, provider, log }: OverdueTools): Promise<void> {
  const overdue = await pool.overdueLaunches();
  if (overdue.length > 0)
    log.warn('launches took too long, their slots are free again', { count: overdue.length });
  await eachOf(overdue, width, (sandbox) => provider.destroy(sandbox));
}

type DrainTools = {
  readonly pool: Pick<PoolStore, 'draining' | 'takeErrands' | 'forget'>;
  readonly provider: Pick<SandboxProvider, 'destroy'>;
  readonly account: Pick<SandboxAccount, 'isGone'>;
  readonly metrics: Pick<Metrics, 'sandboxDestroyed'>;
  readonly clock: Pick<Clock, 'monotonicMs'>;
};

/** Sandboxes looked at in one pass: a whole training step's worth, and a bound for what is remembered of them. */
const batch = 512;
/** A removal that was accepted and did not happen is asked for again after this. */
const askAgainMs = 10_000;

/**
 * Destroys what is on its way out, of several controllers one at a time, and forgets it once the provider has said that it is gone. What is gone without
 * such a word (it never ran, or nobody watched) is forgotten by the comparison with the provider's own list.
 */
export function createDrain(tools: DrainTools): () => Promise<void> {
  const askedAtMs = new Map<SandboxId, number>();

  return async () => {
    const draining = await tools.pool.draining(batch);
    keepOnly(askedAtMs, draining);
    const nowMs = tools.clock.monotonicMs();
    const due = draining.filter(
      (sandbox) => isDue(askedAtMs.get(sandbox), nowMs) || tools.account.isGone(sandbox),
    );
    const gone = due.filter((sandbox) => tools.account.isGone(sandbox));
    await eachOf(gone, width, (sandbox) => tools.pool.forget(sandbox));
    const there = due.filter((sandbox) => !gone.includes(sandbox));
    const ours = await tools.pool.takeErrands('destroy', there);
    await eachOf(ours, width, async (sandbox) => {
      await tools.provider.destroy(sandbox);
      // Not the pass's own time: where five hundred go at once, the last is asked for seconds after the first.
      askedAtMs.set(sandbox, tools.clock.monotonicMs());
      tools.metrics.sandboxDestroyed();
    });
  };
}

const isDue = (askedAtMs: number | undefined, nowMs: number) =>
  askedAtMs === undefined || nowMs - askedAtMs >= askAgainMs;

function keepOnly(askedAtMs: Map<SandboxId, number>, draining: readonly SandboxId[]): void {
  const still = new Set(draining);
  for (const sandbox of askedAtMs.keys()) if (!still.has(sandbox)) askedAtMs.delete(sandbox);
}
