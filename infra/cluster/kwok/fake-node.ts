/** The taint of fake nodes (only what tolerates it is placed there), and the annotation by which kwok knows its own. */
export const fakeNodeMark = { key: 'kwok.x-k8s.io/node', value: 'fake' } as const;

/** So much that no test runs into it: 20 of them hold 5,000 pods. */
const room = { cpu: '64', memory: '256Gi', 'ephemeral-storage': '1Ti', pods: '250' };
const zones = 3;

/** A Node object of which kwok plays the kubelet. */
export function fakeNode(index: number): object {
  const name = `fake-${index}`;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { [fakeNodeMark.key]: fakeNodeMark.value },
      labels: {
        type: 'kwok',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'topology.kubernetes.io/zone': `z${index % zones}`,
      },
    },
    spec: { taints: [{ ...fakeNodeMark, effect: 'NoSchedule' }] },
    status: { allocatable: room, capacity: room },
  };
}
