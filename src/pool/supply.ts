import type { PoolStore, TemplateCounts } from '../ports/fleet/pool.ts';
import type { LaunchQueue } from '../ports/launch-queue.ts';
import type { Metrics } from '../ports/metrics.ts';
import { countedTogether } from './counted-together.ts';
import { targetsOf } from './plans.ts';
import type { PoolPlans } from './plans.ts';
import { wantedTickets } from './sizing.ts';

export type SupplyTools = {
  readonly pool: Pick<PoolStore, 'counts'>;
  readonly queue: Pick<LaunchQueue, 'offer'>;
  readonly metrics: Pick<Metrics, 'poolCounted' | 'startsCounted'>;
  readonly plans: () => PoolPlans;
  readonly startBudget: number;
};

/** One look at the pools: offers as many blank tickets as there is work and start budget for. Returns what it saw. */
export async function supplyTickets(tools: SupplyTools): Promise<readonly TemplateCounts[]> {
  const plans = tools.plans();
  const targets = targetsOf(plans);
  const counts = await tools.pool.counts(targets.map((target) => target.template));
  tools.metrics.poolCounted(countedTogether(counts, plans));
  const starting = counts.reduce((sum, { launching }) => sum + launching, 0);
  tools.metrics.startsCounted(starting, tools.startBudget);
  const tickets = wantedTickets(counts, targets, tools.startBudget);
  if (tickets > 0) await tools.queue.offer(tickets);
  return counts;
}
