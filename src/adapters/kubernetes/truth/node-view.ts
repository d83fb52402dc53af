import { keptOffBy } from './keeps-off.ts';
import { isNode, type Taint } from './objects.ts';

/** What is kept of a node: enough to judge the pods on it. */
export type NodeView = {
  readonly name: string;
  /** The kubelet says so, lately: `Unknown` (nothing heard of it) is not ready. */
  readonly ready: boolean;
  /** In the cluster's words, why it is not ready. */
  readonly why: string | null;
  readonly memoryPressure: boolean;
  /** It is on its way out, or was never meant for everybody: pods that do not tolerate these are no longer placed there. */
  readonly keptOffBy: readonly Taint[];
  /** Its runtime says that it can give a pod ids of its own. */
  readonly userNamespaces: boolean;
};

/** Null for what is no node. One without conditions has just registered: nobody knows ill of it. */
export function nodeView(object: unknown): NodeView | null {
  if (!isNode(object)) return null;
  const { conditions = [], runtimeHandlers: handlers = [] } = object.status ?? {};
  const ready = conditions.find(({ type }) => type === 'Ready');
  const isReady = ready === undefined || ready.status === 'True';
  return {
    name: object.metadata.name,
    ready: isReady,
    why: isReady ? null : `${ready?.reason ?? 'NotReady'}: ${ready?.message ?? ''}`.slice(0, 300),
    memoryPressure: conditions.some(({ type, status }) => type === 'MemoryPressure' && status === 'True'),
    keptOffBy: keptOffBy(object),
    userNamespaces: handlers.some(
      ({ name = '', features }) => name === '' && features?.userNamespaces === true,
    ),
  };
}
