import type { PoolStore, TemplateCounts } from '../ports/fleet/pool.ts';
import type { LaunchQueue } from '../ports/launch-queue.ts';
import type { Metrics, FleetPool } from '../ports/metrics.ts';
import { type PoolPlan, type PoolPlans, slotTimeoutMs, targetsOf } from './plans.ts';
import { type SandboxId, type TemplateDigest, templateDigest } from '../model/ids.ts';

type SupplyTools = {
  readonly pool: Pick<PoolStore, 'counts' | 'lookAt' | 'reserve'>;
  readonly queue: Pick<LaunchQueue, 'add'>;
  readonly metrics: Pick<Metrics, 'startsCounted'>;
  readonly plans: () => PoolPlans;
  /** Reads which templates rows and demands have made meanwhile, for the plans. */
  readonly readChosen: () => Promise<void>;
  readonly newSandbox: () => SandboxId;
  readonly startBudget: number;
};

/**
 * Reserves what may be started, each time a process hints at it, and makes a job of each launch. By new plans a pool may lack what
 * by those before it did not: then all that are kept warm are counted. Templates that rows and demands make are read only if one is
 * wanted that the plans do not have.
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
    while (await launchWanted(tools));
  };
}

/** Reserved in one script, which looks at the line and at all that is lacking for each: no other process waits long for Redis. */
const mostAtOnce = 8;

/** Returns whether there may be more to start now. A launch whose job could not be added gets it by `giveMissingJobs`. */
async function launchWanted(tools: SupplyTools): Promise<boolean> {
  const { pool, queue, metrics, readChosen, newSandbox, startBudget } = tools;
  const plans = tools.plans();
  const names = Array.from({ length: Math.min(startBudget, mostAtOnce) }, newSandbox);
  const reserved = await pool.reserve(names, targetsOf(plans), startBudget, slotTimeoutMs(plans));
  metrics.startsCounted(reserved.starting, startBudget);
  await queue.add(reserved.launches);
  if (reserved.isUnplanned) await readChosen();
  return reserved.launches.length === names.length || tools.plans() !== plans;
}

/** The time in which a process adds the jobs of what it has reserved, many times over. */
const jobMissingAfterMs = 2_000;

/**
 * A start whose job is missing or over gets it again: the process that reserved it ended before it added the job, or
 * BullMQ has given it up while Redis answered no worker. Without a job it would hold its slot until its time is over.
 */
export async function giveMissingJobs({
  pool,
  queue,
}: {
  readonly pool: Pick<PoolStore, 'starts'>;
  readonly queue: Pick<LaunchQueue, 'addMissing'>;
}): Promise<void> {
  const starts = await pool.starts(jobMissingAfterMs);
  if (starts.length > 0) await queue.addMissing(starts);
}

type PoolCountTools = {
  readonly pool: Pick<PoolStore, 'counts' | 'knownTemplates' | 'lookAt'>;
  readonly metrics: Pick<Metrics, 'poolCounted'>;
  readonly plans: () => PoolPlans;
};

/**
 * Counts all pools, for people, and for what a Redis that has forgotten does not know to be lacking. There may be thousands of planned
 * templates. Redis counts the pools in use or kept warm; the others are empty.
 */
export async function countPools({ pool, metrics, plans: ofNow }: PoolCountTools): Promise<void> {
  const plans = ofNow();
  const inUse = new Set(await pool.knownTemplates());
  const isCounted = ([template, { minReady }]: readonly [TemplateDigest, PoolPlan]) =>
    minReady > 0 || inUse.has(template);
  const counts = await pool.counts([...plans].filter(isCounted).map(([template]) => template));
  const empty = [...plans].filter((plan) => !isCounted(plan)).map(([template]) => emptyPool(template));
  metrics.poolCounted(countedTogether([...counts, ...empty], plans));
  await nameLacking(pool, plans, counts);
}

const emptyPool = (template: TemplateDigest): TemplateCounts => ({
  template,
  ready: 0,
  launching: 0,
  held: 0,
  waiting: 0,
  oldestWaitMs: 0,
  announced: 0,
  breaker: 'closed',
  lastFailure: null,
});

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
 * The counts as they are shown: a fleet may have thousands of templates that rows and demands made, too many for a line each, so
 * those of one group are one, with the bounds that they have together. It stands open when any of them does.
 */
export function countedTogether(counts: readonly TemplateCounts[], plans: PoolPlans): readonly FleetPool[] {
  const shown = new Map<string, FleetPool>();
  for (const one of counts) {
    const plan = plans.get(one.template);
    const name = plan?.group ?? one.template;
    const before = shown.get(name);
    const sum = before === undefined ? one : added(before, one);
    const { environments = [], minReady = 0, max = 0 } = plan ?? {};
    const kept = { minReady: Math.max(before?.minReady ?? 0, minReady), max };
    shown.set(name, { ...sum, template: templateDigest(name), environments, ...kept });
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
