import { type Environment, isOpenTemplate, type Template } from '../model/environment.ts';
import type { EnvironmentName, EnvironmentVersion, TemplateDigest } from '../model/ids.ts';
import {
  placesForGraders,
  type PoolOverrides,
  shareOfGraders,
  shareOfPolicies,
  weightOf,
} from '../model/pool-places.ts';
import type { PoolTarget } from '../ports/fleet/pool.ts';

/** What this controller keeps of one template, put together from every environment that uses it. */
export type PoolPlan = {
  readonly template: Template;
  readonly minReady: number;
  readonly max: number;
  readonly maxAgeMs: number;
  /** Whether the newest version of an environment uses it. Others are served for runs pinned to them, never kept warm. */
  readonly wanted: boolean;
  /** Of which version a row or a demand made it; null: it is an environment's own. */
  readonly chosenFor: EnvironmentVersion | null;
  /** `max` holds for all templates of a group together. */
  readonly group: string;
  /** Of how many of its environment's own sandboxes it takes the place: `max` counts those. */
  readonly weight: number;
  /** How many more places its graders need than are reserved for them. */
  readonly forGraders: number;
  /** Those that use it: what people call it. */
  readonly environments: readonly EnvironmentName[];
};

export type PoolPlans = ReadonlyMap<TemplateDigest, PoolPlan>;

/** A template that a dataset row or a demand made of an environment: by naming its image, by raising its amounts. */
export type ChosenTemplate = { readonly environment: Environment; readonly template: Template };

/**
 * The plans of all templates: those of the `newest` environments, those that only older `published` versions use, and
 * those that rows made. Environments that share a template share its pool, so their sizes add up and the shortest age
 * counts. Nobody knows which row comes next, so of a row's template none is kept ready but what is announced.
 */
export function planPools(
  newest: readonly Environment[],
  published: readonly Environment[],
  overrides: PoolOverrides,
  chosen: readonly ChosenTemplate[] = [],
): PoolPlans {
  const plans = new Map<TemplateDigest, PoolPlan>();
  for (const environment of newest) {
    for (const plan of plansOf(environment, overrides)) {
      const { digest } = plan.template;
      plans.set(digest, shared(plans.get(digest), plan));
    }
  }
  for (const environment of published) {
    for (const own of plansOf(environment, overrides)) {
      const { digest } = own.template;
      const plan = plans.get(digest) ?? { ...own, minReady: 0, wanted: false };
      plans.set(digest, { ...plan, environments: namesWith(plan.environments, environment.name) });
    }
  }
  const isNewest = new Set(newest.map(({ version }) => version));
  for (const { environment, template } of chosen) {
    if (plans.has(template.digest)) continue;
    const { version } = environment;
    const plan = chosenPlanOf(environment, template, plans, overrides);
    plans.set(template.digest, { ...plan, minReady: 0, wanted: isNewest.has(version), chosenFor: version });
  }
  return plans;
}

/** Of an environment's own templates: the policy's, unless each row names an image, and the grader's. */
function plansOf(environment: Environment, overrides: PoolOverrides): readonly PoolPlan[] {
  const { template, graderTemplate } = environment;
  return [
    ...(isOpenTemplate(template) ? [] : [planOf(environment, template, overrides)]),
    ...(graderTemplate === undefined || isOpenTemplate(graderTemplate)
      ? []
      : [graderPlanOf(environment, graderTemplate, overrides)]),
  ];
}

/** It shares the maximum of the environment's own template, or of all that rows make of it. */
function chosenPlanOf(
  environment: Environment,
  template: Template,
  plans: PoolPlans,
  overrides: PoolOverrides,
): PoolPlan {
  const isGraders = template.role === 'grader';
  const base = isGraders ? environment.graderTemplate : environment.template;
  const plan = {
    ...(isGraders ? graderPlanOf : planOf)(environment, template, overrides),
    weight: base === undefined ? 1 : weightOf(base, template),
    forGraders: isGraders
      ? 0
      : placesForGraders(environment, template, graderShareOf(environment, overrides)),
  };
  if (base === undefined || isOpenTemplate(base))
    return { ...plan, group: openGroup(environment, isGraders) };
  const { max, maxAgeMs } = plans.get(base.digest) ?? plan;
  return { ...plan, max, maxAgeMs, group: base.digest };
}

const openGroup = ({ version }: Environment, isGraders: boolean): string =>
  isGraders ? `grader-${version}` : version;

/** The environment's sandboxes without those that are the grader's share of them. */
function planOf(environment: Environment, template: Template, overrides: PoolOverrides): PoolPlan {
  const override = overrides.get(environment.name) ?? {};
  const most = mostOf(environment, overrides);
  const max = shareOfPolicies(environment.pool, most);
  const minReady = Math.min(max, override.minReady ?? environment.pool.minReady);
  return { template, minReady, max, ...commonOf(environment, template) };
}

function graderPlanOf(environment: Environment, template: Template, overrides: PoolOverrides): PoolPlan {
  const max = graderShareOf(environment, overrides);
  const minReady = Math.min(max, environment.pool.grader?.minReady ?? 0);
  return { template, minReady, max, ...commonOf(environment, template) };
}

const mostOf = ({ name, pool }: Environment, overrides: PoolOverrides) =>
  overrides.get(name)?.max ?? pool.max;

const graderShareOf = (environment: Environment, overrides: PoolOverrides): number =>
  shareOfGraders(environment.pool, mostOf(environment, overrides));

const commonOf = ({ name, pool }: Environment, { digest }: Template) => ({
  maxAgeMs: pool.maxAgeMs,
  wanted: true,
  chosenFor: null,
  group: digest,
  weight: 1,
  forGraders: 0,
  environments: [name],
});

function shared(one: PoolPlan | undefined, other: PoolPlan): PoolPlan {
  if (one === undefined) return other;
  return {
    ...other,
    minReady: one.minReady + other.minReady,
    max: one.max + other.max,
    maxAgeMs: Math.min(one.maxAgeMs, other.maxAgeMs),
    environments: [...new Set([...one.environments, ...other.environments])],
  };
}

const namesWith = (names: readonly EnvironmentName[], name: EnvironmentName) =>
  names.includes(name) ? names : [...names, name];

const targetsKnown = new WeakMap<PoolPlans, readonly PoolTarget[]>();

/** The same list for the same plans: there may be thousands, and each launch asks. */
export function targetsOf(plans: PoolPlans): readonly PoolTarget[] {
  const known = targetsKnown.get(plans);
  if (known !== undefined) return known;
  const sizes = sizesOf(plans);
  const targets = [...plans].map(([template, plan]) => targetOf(template, plan, sizes));
  targetsKnown.set(plans, targets);
  return targets;
}

/** How many templates each group has. */
function sizesOf(plans: PoolPlans): ReadonlyMap<string, number> {
  const sizes = new Map<string, number>();
  for (const { group } of plans.values()) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  return sizes;
}

function targetOf(
  template: TemplateDigest,
  { template: { role }, minReady, max, chosenFor, group, weight, forGraders, environments }: PoolPlan,
  sizes: ReadonlyMap<string, number>,
): PoolTarget {
  const [environment] = environments;
  const isAlone = chosenFor === null && sizes.get(group) === 1;
  return {
    template,
    minReady,
    max,
    ...(chosenFor !== null && { chosenFor }),
    ...(!isAlone && { group }),
    ...(weight > 1 && { weight }),
    ...(forGraders > 0 && { forGraders }),
    ...(role === 'grader' && { role }),
    ...(environment !== undefined && { environment }),
  };
}

/** After this a reserved start can no longer end well, whichever template it got: its slot may be given back. */
export function slotTimeoutMs(plans: PoolPlans): number {
  const timeouts = [...plans.values()].map((plan) => plan.template.startTimeoutMs);
  // One for the engine to accept it, one for the sandbox to become ready.
  return 2 * Math.max(0, ...timeouts) + reportMarginMs;
}

/** Between a start's own timeout and its slot's: time to write down why it failed before the slot is just reclaimed. */
const reportMarginMs = 5_000;
