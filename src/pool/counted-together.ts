import { type EnvironmentVersion, templateDigest, type TemplateDigest } from '../model/ids.ts';
import type { TemplateCounts } from '../ports/fleet/pool.ts';
import type { FleetPool } from '../ports/metrics.ts';
import type { PoolPlans } from './plans.ts';

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
