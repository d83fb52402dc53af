import { commandsAsSandboxd, type LossCause } from '#src/failure/codes.ts';
import type { Evidence } from '#src/failure/failure.ts';
import { mayBePolicys } from '#src/failure/verdict.ts';
import type { Users } from '../pod/users.ts';
import { leavingOf, type NodeView } from './node-view.ts';
import type { Condition, ContainerState, PodObject } from './objects.ts';

/** A pod's end as the cluster tells it. */
export type Ending = { readonly cause: LossCause; readonly evidence: Evidence };

export type EndingFacts = {
  readonly pod: PodObject;
  /** The pod's node as the watch knows it; null where it knows none of that name. */
  readonly node: NodeView | null;
  /** The container that sandboxd runs in. */
  readonly container: string;
  /** We asked for its removal. */
  readonly asked: boolean;
};

/*
 * The table: first match wins. Sources, of Kubernetes 1.34: `staging/src/k8s.io/api/core/v1/types.go` (DisruptionTarget
 * and its reasons), `pkg/kubelet/eviction` (Evicted), `pkg/kubelet/nodeshutdown` (Terminated), `pkg/kubelet/preemption`
 * (Preempting), `pkg/kubelet/active_deadline.go` (DeadlineExceeded), `pkg/util/node` (NodeLost).
 *
 *   we asked for its removal                    deleted
 *   status.reason, by {@link podReasons}        evicted, preempted, node_lost, node_drained, expired, or its own disk limit
 *   condition DisruptionTarget, by reason       preempted, node_lost, node_drained where its node takes no more pods, evicted
 *   deletionTimestamp                           deleted: by somebody else, who left no reason
 *   the container ended: killed for memory      out_of_memory, unless `inquests.ts` finds that it may have been the node's
 *                        any other signal       sandboxd_killed
 *                        an exit code           sandbox_exited
 *   the pod failed before that container ran    sandbox_exited; `start-trouble.ts` says why
 *   nothing else                                deleted: the object is gone and says no more
 */
export function endingOf(facts: EndingFacts): Ending {
  const evidence = evidenceOf(facts);
  return { cause: causeOf(facts), evidence };
}

/** When its container was killed for memory, by its node's clock; null where it was not, or was asked to go. */
export function killedForMemoryAtMs(facts: EndingFacts): number | null {
  if (causeOf(facts) !== 'out_of_memory') return null;
  return Date.parse(terminatedOf(facts.pod, facts.container)?.finishedAt ?? '');
}

/** Whether the node keeps all of the container's memory limit for it: the scheduler counts requests alone. */
export function hasItsLimitPromised({ spec }: PodObject, container: string): boolean {
  const { requests, limits } = spec?.containers?.find(({ name }) => name === container)?.resources ?? {};
  return limits?.['memory'] !== undefined && limits['memory'] === requests?.['memory'];
}

function causeOf({ pod, node, container, asked }: EndingFacts): LossCause {
  if (asked) return 'deleted';
  const told = toldBy(pod, node);
  if (told !== null) return told;
  if (pod.metadata.deletionTimestamp !== undefined) return 'deleted';
  const terminated = terminatedOf(pod, container);
  if (terminated !== null) return exitCause(terminated);
  return pod.status?.phase === 'Failed' ? 'sandbox_exited' : 'deleted';
}

/** Who takes this pod away, by its own status; null where it does not say. */
export function toldBy({ spec, status }: PodObject, node: NodeView | null): LossCause | null {
  const { reason = '', message = '', conditions = [] } = status ?? {};
  if (reason === 'Evicted') return ownDiskLimit.test(message) ? 'out_of_disk' : 'evicted';
  const disruption = conditions.find(({ type, status }) => type === 'DisruptionTarget' && status === 'True');
  const ofNode = node === null ? null : leavingOf(spec?.tolerations ?? [], node.keptOffBy);
  return (
    podReasons[reason] ?? (disruption === undefined ? null : disruptedBy(disruption, node, ofNode !== null))
  );
}

const podReasons: Readonly<Record<string, LossCause>> = {
  Preempting: 'preempted',
  // A node that shuts down in order: `Terminated` since 1.22, before it `Shutdown`; `NodeShutdown` refuses new pods.
  Terminated: 'node_drained',
  Shutdown: 'node_drained',
  NodeShutdown: 'node_lost',
  NodeLost: 'node_lost',
  DeadlineExceeded: 'expired',
};

/**
 * The eviction manager's words where the pod passed its own limit (`pkg/kubelet/eviction/helpers.go`); where the node
 * ran out they are `The node was low on resource: …`, which nothing in the sandbox has to answer for.
 */
const ownDiskLimit =
  /^(Usage of EmptyDir volume .* exceeds the limit|Pod ephemeral local storage usage exceeds|Container \S+ exceeded its local ephemeral storage limit)/;

// A NoExecute taint is put by whoever wants a node empty; the node controller is only one of them.
function disruptedBy({ reason = '' }: Condition, node: NodeView | null, nodeLeaves: boolean): LossCause {
  switch (reason) {
    case 'PreemptionByScheduler':
      return 'preempted';
    case 'DeletionByPodGC':
      return 'node_lost';
    case 'DeletionByTaintManager':
      return node === null || !node.ready ? 'node_lost' : 'node_drained';
    default:
      // EvictionByEvictionAPI, TerminationByKubelet, and what a newer cluster adds.
      return nodeLeaves ? 'node_drained' : 'evicted';
  }
}

type Terminated = NonNullable<ContainerState['terminated']>;

function terminatedOf({ status }: PodObject, container: string): Terminated | null {
  const own = status?.containerStatuses?.find(({ name }) => name === container);
  return own?.state?.terminated ?? null;
}

/** Where a shell would say 128 + n. Container runtimes tell a signal like this, and leave `signal` at 0. */
const signalBase = 128;
const sigkill = 9;

function signalOf({ exitCode, signal = 0 }: Terminated): number {
  if (signal > 0) return signal;
  return exitCode > signalBase && exitCode <= signalBase + 64 ? exitCode - signalBase : 0;
}

/**
 * `OOMKilled` alone proves little. containerd notes it as soon as any process of the container was killed for memory,
 * and tells it as the reason of whatever end comes later: hence the signal.
 */
function exitCause(terminated: Terminated): LossCause {
  const signal = signalOf(terminated);
  if (signal === 0) return 'sandbox_exited';
  return killedForMemory(terminated) ? 'out_of_memory' : 'sandboxd_killed';
}

function killedForMemory(terminated: Terminated): boolean {
  return terminated.reason === 'OOMKilled' && signalOf(terminated) === sigkill;
}

function evidenceOf({ pod, node, container, asked }: EndingFacts): Evidence {
  const { metadata, spec, status } = pod;
  const terminated = terminatedOf(pod, container);
  const disruption = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  return {
    pod: metadata.name,
    podUid: metadata.uid,
    node: spec?.nodeName ?? null,
    nodeReady: node?.ready ?? null,
    phase: status?.phase ?? null,
    askedByUs: asked,
    ...given('podReason', status?.reason),
    ...given('podMessage', status?.message),
    ...given('disruption', disruption?.reason),
    ...given('disruptionMessage', disruption?.message),
    ...given('markedForDeletionAt', metadata.deletionTimestamp),
    ...(causeOf({ pod, node, container, asked }) === 'evicted' && status?.reason === 'Evicted'
      ? mayBePolicys
      : {}),
    ...(terminated === null ? {} : exitEvidence(terminated, node)),
    ...(terminated !== null && couldBeKilled(pod, container, terminated) ? commandsAsSandboxd : {}),
  };
}

function exitEvidence(terminated: Terminated, node: NodeView | null): Evidence {
  const signal = signalOf(terminated);
  return {
    exitCode: terminated.exitCode,
    signal: signal === 0 ? null : (signalNames[signal] ?? `signal ${signal}`),
    nodeMemoryPressure: node?.memoryPressure ?? null,
    ...given('containerReason', terminated.reason),
    ...given('lastWords', terminated.message),
  };
}

/** Commands ran under sandboxd's own id, and it was no want of memory that ended it, which may have been the node's. */
function couldBeKilled({ spec }: PodObject, container: string, terminated: Terminated): boolean {
  const env = spec?.containers?.find(({ name }) => name === container)?.env ?? [];
  const users = env.find(({ name }) => name === 'CORRAL_USERS')?.value ?? apart;
  return users !== apart && !killedForMemory(terminated);
}

const apart: Users = 'two-user';

/** Those by which containers end; others are told by number. */
const signalNames: Readonly<Record<number, string>> = {
  4: 'SIGILL',
  5: 'SIGTRAP',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  15: 'SIGTERM',
  31: 'SIGSYS',
};

/** Evidence is kept with every rollout: a cluster's sentence is shown, its essays are not. */
const mostWords = 500;

const given = (name: string, words: string | undefined): Evidence =>
  words === undefined || words === '' ? {} : { [name]: words.slice(0, mostWords) };
