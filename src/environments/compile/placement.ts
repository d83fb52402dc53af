import type { Placement } from '#src/model/environment.ts';
import type { PlacementYaml } from '../schema/placement.ts';

/** Where a cluster puts the sandbox; what is left out is the operator's choice, or the cluster's. */
export function compilePlacement(yaml: PlacementYaml): Placement {
  return {
    runtimeClass: yaml.runtime_class ?? null,
    priorityClass: yaml.priority_class ?? null,
    nodeSelector: yaml.node_selector ?? {},
    tolerations: (yaml.tolerations ?? []).map(({ key, value, effect }) => ({
      key,
      value: value ?? null,
      effect: effect ?? null,
    })),
    labels: yaml.labels ?? {},
  };
}
