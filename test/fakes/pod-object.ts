import type { NodeView } from '#src/adapters/kubernetes/truth/node-view.ts';
import type { PodObject } from '#src/adapters/kubernetes/truth/objects.ts';

type Status = NonNullable<PodObject['status']>;

/** A pod on node-1 with this status. */
export function fakePod(status: Status, metadata: Partial<PodObject['metadata']> = {}): PodObject {
  return {
    metadata: { name: 'pod', uid: 'uid-1', creationTimestamp: '2026-01-01T00:00:00Z', ...metadata },
    spec: { nodeName: 'node-1' },
    status,
  };
}

export const fakeNode = (changes: Partial<NodeView> = {}): NodeView => ({
  name: 'node-1',
  ready: true,
  why: null,
  memoryPressure: false,
  keptOffBy: [],
  shutDownBy: null,
  userNamespaces: true,
  ...changes,
});
