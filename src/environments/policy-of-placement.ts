import type { Placement } from '../model/environment.ts';
import type { Path, Report } from './mistakes.ts';
import { matchesOne } from './patterns.ts';
import type { PolicyYaml } from './schema/policy.ts';

/** Patterns of what environments may name of a cluster; of node selectors, tolerations and labels, their keys. */
export type PlacementPolicy = {
  readonly runtimeClasses: readonly string[];
  readonly priorityClasses: readonly string[];
  readonly nodeSelectors: readonly string[];
  readonly tolerations: readonly string[];
  readonly labels: readonly string[];
};

const anything = ['*'];

export function compilePlacementPolicy(yaml: PolicyYaml): PlacementPolicy {
  return {
    runtimeClasses: yaml.runtime_classes ?? anything,
    priorityClasses: yaml.priority_classes ?? anything,
    nodeSelectors: yaml.node_selectors ?? anything,
    tolerations: yaml.tolerations ?? anything,
    labels: yaml.labels ?? anything,
  };
}

/** Reports what an environment names and its operator does not allow. What it leaves out is the operator's own choice. */
export function checkPlacement(placement: Placement, policy: PlacementPolicy, report: Report): void {
  for (const [place, name, allowed] of named(placement, policy)) {
    if (matchesOne(allowed, name)) continue;
    report(['sandbox', ...place], `is ${name}, and the operator allows: ${allowed.join(', ') || 'none'}`);
  }
}

type Named = readonly [Path, string, readonly string[]];

function named(placement: Placement, policy: PlacementPolicy): readonly Named[] {
  const { runtimeClass, priorityClass, nodeSelector, tolerations, labels } = placement;
  return [
    ...(runtimeClass === null ? [] : [[['runtime_class'], runtimeClass, policy.runtimeClasses] as const]),
    ...(priorityClass === null ? [] : [[['priority_class'], priorityClass, policy.priorityClasses] as const]),
    ...Object.keys(nodeSelector).map((key) => [['node_selector', key], key, policy.nodeSelectors] as const),
    ...tolerations.map(({ key }, index) => [['tolerations', index], key, policy.tolerations] as const),
    ...Object.keys(labels).map((key) => [['labels', key], key, policy.labels] as const),
  ];
}
