import type { Placement } from '../../model/environment.ts';
import type { SandboxYaml } from '../schema/sandbox.ts';

/** Where a cluster puts the sandbox; what an environment leaves out is the operator's choice. */
export function compilePlacement(yaml: SandboxYaml): Placement {
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
