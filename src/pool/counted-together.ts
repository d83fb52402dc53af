import { templateDigest } from '../model/ids.ts';
import type { EnvironmentVersion, TemplateDigest } from '../model/ids.ts';
import type { PoolTarget, TemplateCounts } from '../ports/fleet/pool.ts';

/**
 * The counts as they are shown: a fleet may have thousands of templates that rows made, too many for a line each, so
 * those of one environment are one, under the environment's version. It stands open when any of them does.
 */
export function countedTogether(
  counts: readonly TemplateCounts[],
  targets: readonly PoolTarget[],
): readonly TemplateCounts[] {
  const versionOf = new Map(targets.map(({ template, chosenFor }) => [template, chosenFor]));
  const shown = new Map<TemplateDigest | EnvironmentVersion, TemplateCounts>();
  for (const one of counts) {
    const name = versionOf.get(one.template) ?? one.template;
    const before = shown.get(name);
    shown.set(name, { ...(before === undefined ? one : added(before, one)), template: templateDigest(name) });
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
    announced: one.announced + other.announced,
    breaker: one.breaker === 'closed' ? other.breaker : one.breaker,
    lastFailure: one.lastFailure ?? other.lastFailure,
  };
}
