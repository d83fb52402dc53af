import type { PoolStore, TemplateCounts, PoolTarget } from '../ports/fleet/pool.ts';
import type { LaunchQueue } from '../ports/launch-queue.ts';
import type { Metrics, FleetPool } from '../ports/metrics.ts';
import { type PoolPlan, type PoolPlans, targetsOf } from './plans.ts';
import { type TemplateDigest, templateDigest } from '../model/ids.ts';
import { pullSlots } from '../model/pull-slots.ts';

type SupplyTools = {
  readonly pool: Pick<PoolStore, 'counts' | 'demand' | 'lookAt'>;
  readonly queue: Pick<LaunchQueue, 'offer'>;
  readonly metrics: Pick<Metrics, 'startsCounted'>;
  readonly plans: () => PoolPlans;
  /** Reads which templates rows and demands have made meanwhile, for the plans. */
  readonly readChosen: () => Promise<void>;
  readonly startBudget: number;
};

/**
 * Looks at the pools that may have something to start, each time somebody hints at it, and offers as many blank tickets as
 * there is work and start budget for. By new plans a pool may lack what by those before it did not: then all that are
 * kept warm are counted. Templates that rows and demands make are read only if one is wanted that the plans do not have.
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
    await supplyTickets(tools);
  };
}

async function supplyTickets(tools: SupplyTools): Promise<void> {
  const { pool, queue, metrics, plans, readChosen, startBudget } = tools;
  const { starting, templates } = await pool.demand();
  metrics.startsCounted(starting, startBudget);
  const known = plans();
  if ([...templates].some((template) => !known.has(template))) await readChosen();
  const targets = targetsOf(plans()).filter(({ template }) => templates.has(template));
  const counts = await pool.counts(targets.map(({ template }) => template));
  const tickets = wantedTickets(counts, targets, starting, startBudget);
  if (tickets > 0) await queue.offer(tickets);
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

/**
 * How many launches a template wants beyond those that are out: one for every waiting rollout, and the refill up to
 * `minReady` (or to what is announced, where that is more), never beyond `max` sandboxes of all kinds.
 *
 * This only decides how many tickets are worth offering. Which template a ticket starts, and whether it starts any,
 * is decided by the reservation, in one place for all controllers; so a count that is a moment old costs a ticket
 * that finds nothing to do, never a sandbox too many.
 */
export function wantedLaunches(counts: TemplateCounts, target: PoolTarget): number {
  const coming = counts.ready + counts.launching;
  const needed = counts.waiting + Math.max(target.minReady, counts.announced) - coming;
  const room = target.max - coming - counts.held;
  return Math.min(Math.max(0, Math.min(needed, room)), breakerAllows(counts));
}

// An open breaker gets one ticket at a time: the reservation lets it through when the next probe is due.
function breakerAllows({ breaker }: TemplateCounts): number {
  if (breaker === 'closed') return Number.POSITIVE_INFINITY;
  return breaker === 'open' ? 1 : 0;
}

/**
 * How many tickets should wait or run now: the launches that are out (`launching`, of all templates) plus those wanted,
 * within the start budget. More than the budget could only queue behind it, and would be stale when their turn came.
 */
export function wantedTickets(
  counts: readonly TemplateCounts[],
  targets: readonly PoolTarget[],
  launching: number,
  startBudget: number,
): number {
  const targetOf = new Map(targets.map((target) => [target.template, target]));
  const wanted = counts.flatMap((one): readonly Wanted[] => {
    const target = targetOf.get(one.template);
    return target === undefined ? [] : [{ counts: one, target, launches: wantedLaunches(one, target) }];
  });
  return Math.min(startBudget, launching + pullable(wanted, startBudget));
}

/** What a template wants beyond the launches that are out. */
export type Wanted = {
  readonly counts: TemplateCounts;
  readonly target: PoolTarget;
  readonly launches: number;
};

/**
 * How many of the wanted launches the start slots have room for, where rows and demands make the templates. Others all count.
 * The reservation decides by the same slots; here they keep tickets from being offered in vain.
 */
export function pullable(wanted: readonly Wanted[], startBudget: number): number {
  const slots = pullSlots(startBudget);
  const own = wanted.filter(({ target }) => target.chosenFor === undefined);
  const chosen = wanted.filter(({ target }) => target.chosenFor !== undefined);
  const proven = chosen.filter(isProven);
  const [graders, unproven] = byRole(chosen.filter((one) => !isProven(one)));
  const slotsLeft = slots.unproven - sum(unproven, ({ counts }) => counts.launching);
  const first = Math.min(sum(unproven, within(slots.first)), Math.max(0, slotsLeft));
  const bounded = first + sum(graders, within(slots.first)) + sum(proven, within(slots.later));
  return sum(own, ({ launches }) => launches) + Math.min(bounded, roomOf(chosen));
}

/** One of its sandboxes stands, and a machine had room for its last start. */
const isProven = ({ counts }: Wanted): boolean =>
  counts.ready + counts.held > 0 && counts.lastFailure?.code !== 'unschedulable';

function byRole(wanted: readonly Wanted[]): readonly [readonly Wanted[], readonly Wanted[]] {
  const isGraders = ({ target }: Wanted) => target.role === 'grader';
  return [wanted.filter(isGraders), wanted.filter((one) => !isGraders(one))];
}

const within =
  (slots: number) =>
  ({ counts, launches }: Wanted): number =>
    Math.max(0, Math.min(launches, slots - counts.launching));

/** What the maxima of their environments leave, each for all its templates together. Idle sandboxes of others give way. */
function roomOf(chosen: readonly Wanted[]): number {
  const left = new Map<string | undefined, number>();
  for (const { counts, target } of chosen) {
    const before = left.get(target.group) ?? target.max;
    const ready = counts.waiting > 0 ? counts.ready : 0;
    left.set(target.group, before - ready - counts.launching - counts.held);
  }
  return sum([...left.values()], (room) => Math.max(0, room));
}

const sum = <Element>(list: readonly Element[], numberOf: (element: Element) => number): number =>
  list.reduce((total, element) => total + numberOf(element), 0);
