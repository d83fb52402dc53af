import type { PoolStore, TemplateCounts } from '../ports/fleet/pool.ts';
import type { LaunchQueue } from '../ports/launch-queue.ts';
import type { Metrics, FleetPool } from '../ports/metrics.ts';
import { type PoolPlans, targetsOf } from './plans.ts';
import { wantedTickets } from './sizing.ts';
import { type EnvironmentVersion, templateDigest, type TemplateDigest } from '../model/ids.ts';

export type SupplyTools = {
  readonly pool: Pick<PoolStore, 'counts' | 'demand' | 'lookAt'>;
  readonly queue: Pick<LaunchQueue, 'offer'>;
  readonly metrics: Pick<Metrics, 'startsCounted'>;
  readonly plans: () => PoolPlans;
  readonly startBudget: number;
};

/**
 * Looks at the pools that may have something to start, each time somebody hints at it, and offers as many blank tickets as
 * there is work and start budget for. By new plans a pool may lack what by those before it did not: then all that are
 * kept warm are counted.
 */
export function createSupply(tools: SupplyTools): () => Promise<void> {
  let counted: PoolPlans | null = null;
  return async () => {
    const plans = tools.plans();
    if (plans !== counted) {
      const warm = targetsOf(plans).filter(({ minReady }) => minReady > 0);
      await nameLacking(tools.pool, plans, await tools.pool.counts(warm.map(({ template }) => template)));
    }
    counted = plans;
    await supplyTickets(tools, plans);
  };
}

async function supplyTickets(
  { pool, queue, metrics, startBudget }: SupplyTools,
  plans: PoolPlans,
): Promise<void> {
  const { starting, templates } = await pool.demand();
  metrics.startsCounted(starting, startBudget);
  const targets = targetsOf(plans).filter(({ template }) => templates.has(template));
  const counts = await pool.counts(targets.map(({ template }) => template));
  const tickets = wantedTickets(counts, targets, starting, startBudget);
  if (tickets > 0) await queue.offer(tickets);
}

export type PoolCountTools = {
  readonly pool: Pick<PoolStore, 'counts' | 'lookAt'>;
  readonly metrics: Pick<Metrics, 'poolCounted'>;
  readonly plans: () => PoolPlans;
};

/** Counts all pools, for people, and for what a Redis that has forgotten does not know to be lacking. */
export async function countPools({ pool, metrics, plans: ofNow }: PoolCountTools): Promise<void> {
  const plans = ofNow();
  const counts = await pool.counts([...plans.keys()]);
  metrics.poolCounted(countedTogether(counts, plans));
  await nameLacking(pool, plans, counts);
}

async function nameLacking(
  pool: Pick<PoolStore, 'lookAt'>,
  plans: PoolPlans,
  counts: readonly TemplateCounts[],
): Promise<void> {
  const isLacking = ({ template, ready, launching, announced }: TemplateCounts) =>
    ready + launching < Math.max(plans.get(template)?.minReady ?? 0, announced);
  await pool.lookAt(counts.filter(isLacking).map(({ template }) => template));
}

/**
 * The counts as they are shown: a fleet may have thousands of templates that rows made, too many for a line each, so
 * those of one environment are one, under the environment's version, with the bounds that they have together. It stands
 * open when any of them does.
 */
export function countedTogether(counts: readonly TemplateCounts[], plans: PoolPlans): readonly FleetPool[] {
  const shown = new Map<TemplateDigest | EnvironmentVersion, FleetPool>();
  for (const one of counts) {
    const plan = plans.get(one.template);
    const name = plan?.chosenFor ?? one.template;
    const before = shown.get(name);
    const sum = before === undefined ? one : added(before, one);
    const { environments = [], minReady = 0, max = 0 } = plan ?? {};
    shown.set(name, { ...sum, template: templateDigest(name), environments, minReady, max });
  }
  return [...shown.values()];
}

function added(one: TemplateCounts, other: TemplateCounts): TemplateCounts {
  return {
    ...one,
    ready: one.ready + other.ready,
    launching: one.launching + other.launching,
    held: one.held + other.held,
    waiting: one.waiting + other.waiting,
    oldestWaitMs: Math.max(one.oldestWaitMs, other.oldestWaitMs),
    announced: one.announced + other.announced,
    breaker: one.breaker === 'closed' ? other.breaker : one.breaker,
    lastFailure: one.lastFailure ?? other.lastFailure,
  };
}
