import type { V1PodSpec, V1Toleration } from '@kubernetes/client-node';
import type { PodSettings } from '#src/model/cluster.ts';
import type { Placement, Toleration } from '#src/model/environment.ts';
import { labelKeys } from './labels.ts';

type PlacementFields = Pick<
  V1PodSpec,
  'runtimeClassName' | 'priorityClassName' | 'nodeSelector' | 'tolerations' | 'topologySpreadConstraints'
>;

/** The operator's placement with a template's on top: where both name something, the template's counts. */
export function joinPlacement(operators: Placement, templates: Placement): Placement {
  return {
    runtimeClass: templates.runtimeClass ?? operators.runtimeClass,
    priorityClass: templates.priorityClass ?? operators.priorityClass,
    nodeSelector: { ...operators.nodeSelector, ...templates.nodeSelector },
    tolerations: [...operators.tolerations, ...templates.tolerations],
    labels: { ...operators.labels, ...templates.labels },
  };
}

/** On which nodes, in what kind of container, and before whom. */
export function placementFields(
  placement: Placement,
  { fleet, nodeLossSeconds }: Pick<PodSettings, 'fleet' | 'nodeLossSeconds'>,
): PlacementFields {
  const { runtimeClass, priorityClass, nodeSelector, tolerations } = placement;
  return {
    ...(runtimeClass === null ? {} : { runtimeClassName: runtimeClass }),
    ...(priorityClass === null ? {} : { priorityClassName: priorityClass }),
    nodeSelector: { ...nodeSelector },
    tolerations: [...lostNode(nodeLossSeconds), ...tolerations.map(tolerationOf)],
    topologySpreadConstraints: [spreadOverNodes(fleet)],
  };
}

/** Without these the cluster adds its own, and a pod stays for five minutes on a node that nobody reaches. */
function lostNode(seconds: number): readonly V1Toleration[] {
  return ['not-ready', 'unreachable'].map((trouble) => ({
    key: `node.kubernetes.io/${trouble}`,
    operator: 'Exists',
    effect: 'NoExecute',
    tolerationSeconds: seconds,
  }));
}

function tolerationOf({ key, value, effect }: Toleration): V1Toleration {
  return {
    key,
    ...(value === null ? { operator: 'Exists' } : { operator: 'Equal', value }),
    ...(effect === null ? {} : { effect }),
  };
}

/** The fewer sandboxes share a node, the fewer are lost with it; a full cluster is no reason to wait. */
function spreadOverNodes(fleet: string) {
  return {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: { [labelKeys.fleet]: fleet } },
  };
}
