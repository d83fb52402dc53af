import type { Environment, Template } from '../model/environment.ts';
import type { EnvironmentName, TemplateDigest } from '../model/ids.ts';
import type { PoolTarget } from '../ports/fleet/pool.ts';

/** What this controller keeps of one template, put together from every environment that uses it. */
export type PoolPlan = {
  readonly template: Template;
  readonly minReady: number;
  readonly max: number;
  readonly maxAgeMs: number;
  /** Whether the newest version of an environment uses it. Others are served for runs pinned to them, never kept warm. */
  readonly wanted: boolean;
};

export type PoolPlans = ReadonlyMap<TemplateDigest, PoolPlan>;

/** An operator's own sizes, by environment. */
export type PoolOverrides = ReadonlyMap<
  EnvironmentName,
  { readonly minReady?: number; readonly max?: number }
>;

/**
 * The plans of all templates: those of the `newest` environments, and those that only older `published` versions use.
 * Environments that share a template share its pool, so their sizes add up and the shortest age counts.
 */
export function planPools(
  newest: readonly Environment[],
  published: readonly Environment[],
  overrides: PoolOverrides,
): PoolPlans {
  const plans = new Map<TemplateDigest, PoolPlan>();
  for (const environment of newest) {
    const plan = planOf(environment, overrides);
    plans.set(plan.template.digest, shared(plans.get(plan.template.digest), plan));
  }
  for (const environment of published) {
    const { digest } = environment.template;
    if (plans.has(digest)) continue;
    plans.set(digest, { ...planOf(environment, overrides), minReady: 0, wanted: false });
  }
  return plans;
}

function planOf(environment: Environment, overrides: PoolOverrides): PoolPlan {
  const override = overrides.get(environment.name) ?? {};
  const max = override.max ?? environment.pool.max;
  const minReady = Math.min(max, override.minReady ?? environment.pool.minReady);
  return { template: environment.template, minReady, max, maxAgeMs: environment.pool.maxAgeMs, wanted: true };
}

function shared(one: PoolPlan | undefined, other: PoolPlan): PoolPlan {
  if (one === undefined) return other;
  return {
    ...other,
    minReady: one.minReady + other.minReady,
    max: one.max + other.max,
    maxAgeMs: Math.min(one.maxAgeMs, other.maxAgeMs),
  };
}

export function targetsOf(plans: PoolPlans): readonly PoolTarget[] {
  return [...plans].map(([template, { minReady, max }]) => ({ template, minReady, max }));
}

/** After this a reserved start can no longer end well, whichever template it got: its slot may be given back. */
export function slotTimeoutMs(plans: PoolPlans): number {
  const timeouts = [...plans.values()].map((plan) => plan.template.startTimeoutMs);
  return Math.max(0, ...timeouts) + reportMarginMs;
}

/** Between a start's own timeout and its slot's: time to write down why it failed before the slot is just reclaimed. */
const reportMarginMs = 5_000;
