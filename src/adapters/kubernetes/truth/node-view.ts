import { isNode, type NodeObject, type Taint, type Toleration } from './objects.ts';

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
  /** Who says that the machine was shut down in order, which no pod can bring about; null if nothing says so. */
  readonly shutDownBy: string | null;
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
    shutDownBy: shutDownBy(object, ready?.message ?? ''),
    userNamespaces: handlers.some(
      ({ name = '', features }) => name === '' && features?.userNamespaces === true,
    ),
  };
}

/** The cloud provider's own taint of a machine that it stopped (`k8s.io/cloud-provider/api`). */
const stoppedMachine = 'node.cloudprovider.kubernetes.io/shutdown';
/** The kubelet's words while its machine shuts down in order (`pkg/kubelet/nodeshutdown`, in the message of `Ready`). */
const shuttingDown = 'node is shutting down';

function shutDownBy({ spec }: NodeObject, readyMessage: string): string | null {
  if ((spec?.taints ?? []).some(({ key }) => key === stoppedMachine)) return 'cloud provider';
  return readyMessage.includes(shuttingDown) ? 'kubelet' : null;
}

/*
 * Which nodes are about to leave. Cordons, drains, autoscalers, managed upgrades and spot notices each have taints of
 * their own names, and new ones come every year; all of them mean the same: no more pods here. So it is asked what the
 * scheduler asks: would a pod like this one still be placed on its node? Source, of Kubernetes 1.34:
 * `staging/src/k8s.io/component-helpers/scheduling/corev1/helpers.go` and `ToleratesTaint` of the API.
 */

/** The taints that keep pods off the node, those aside that tell of its health: they come and go while it stays. */
export function keptOffBy({ spec }: NodeObject): readonly Taint[] {
  const taints = (spec?.taints ?? []).filter(({ key, effect }) => hard.has(effect) && !ofHealth.has(key));
  // Its controller writes the taint within a second of a cordon; a grant is faster.
  const cordoned = spec?.unschedulable === true && !taints.some(({ key }) => key === cordon.key);
  return cordoned ? [cordon, ...taints] : taints;
}

/** Why a pod with these tolerations would not be placed there any more; null where it would be. */
export function leavingOf(tolerations: readonly Toleration[], taints: readonly Taint[]): string | null {
  const taint = taints.find((one) => !tolerations.some((toleration) => tolerates(toleration, one)));
  return taint === undefined ? null : `its node takes no more pods (${taint.key}:${taint.effect})`;
}

const hard: ReadonlySet<string> = new Set(['NoSchedule', 'NoExecute']);

const cordon: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** `pkg/controller/nodelifecycle`; a node that is not ready is doubted by itself. */
const ofHealth: ReadonlySet<string> = new Set([
  'node.kubernetes.io/not-ready',
  'node.kubernetes.io/unreachable',
  'node.kubernetes.io/memory-pressure',
  'node.kubernetes.io/disk-pressure',
  'node.kubernetes.io/pid-pressure',
  'node.kubernetes.io/network-unavailable',
]);

function tolerates({ key = '', operator = 'Equal', value = '', effect = '' }: Toleration, taint: Taint) {
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  // What a newer cluster compares by is taken for granted: the scheduler has looked at it.
  return operator !== 'Equal' || value === (taint.value ?? '');
}

/** Of a pod, those that can matter here: every pod is given two for its node's health, and thousands of pods are kept. */
export function tolerationsThatMatter(all: readonly Toleration[]): readonly Toleration[] {
  const some = all.filter(({ key = '' }) => !ofHealth.has(key));
  return some.length === 0 ? none : some;
}

const none: readonly Toleration[] = [];
