import type { StartFailureCode } from '#src/ports/sandbox-provider.ts';
import type { Condition, ContainerStatus, PodObject } from './objects.ts';

/** What keeps a pod from running, in the cluster's own words, and how long it may go on before it counts. */
export type StartTrouble = {
  readonly code: StartFailureCode;
  /** The cluster's word for it: `ErrImagePull`, `Unschedulable`. */
  readonly reason: string;
  readonly message: string;
  readonly graceMs: number;
};

type Rule = { readonly code: StartFailureCode; readonly graceMs: number };

/** Nothing fixes it by itself. */
const atOnce = 0;

/**
 * Registries hiccup, and the kubelet tries again after 10 s by itself: it gets one more try. A sandbox that is given up
 * after it costs a new pod, no more.
 */
const pullGraceMs = 12_000;

/** What is missing (a Secret, a ConfigMap) may be on its way, created beside the pod; the kubelet looks again each second. */
const configGraceMs = 5_000;

/** The runtime may be overloaded (`context deadline exceeded`, a reserved name); the kubelet creates again. */
const createGraceMs = 10_000;

/** Room comes when a neighbour ends, and an autoscaler needs some seconds to say that it works on it. */
const roomGraceMs = 30_000;

/**
 * Why a container waits (`state.waiting.reason`). Sources, of Kubernetes 1.34: `pkg/kubelet/images/types.go` (the pull's
 * own errors), `pkg/kubelet/container/sync_result.go` (creating and running), `pkg/kubelet/kubelet_pods.go`
 * (ContainerCreating, PodInitializing: the normal course, and no trouble). A reason that is not here is waited for.
 */
const waitingRules: Readonly<Record<string, Rule>> = {
  // The name is no image reference: no registry was asked.
  InvalidImageName: { code: 'image_unavailable', graceMs: atOnce },
  // `imagePullPolicy: Never`, and the node does not have it.
  ErrImageNeverPull: { code: 'image_unavailable', graceMs: atOnce },
  // The registry said no or nothing; the message says which.
  ErrImagePull: { code: 'image_unavailable', graceMs: pullGraceMs },
  ImagePullBackOff: { code: 'image_unavailable', graceMs: pullGraceMs },
  RegistryUnavailable: { code: 'image_unavailable', graceMs: pullGraceMs },
  SignatureValidationFailed: { code: 'image_unavailable', graceMs: pullGraceMs },
  ImageInspectError: { code: 'image_unavailable', graceMs: pullGraceMs },
  // A Secret or ConfigMap is missing, or the image's user is not allowed (runAsNonRoot).
  CreateContainerConfigError: { code: 'start_failed', graceMs: configGraceMs },
  CreateContainerError: { code: 'start_failed', graceMs: createGraceMs },
  PreCreateHookError: { code: 'start_failed', graceMs: createGraceMs },
  PreStartHookError: { code: 'start_failed', graceMs: createGraceMs },
  // The command could not be executed: sandboxd's loader is not where it should be.
  RunContainerError: { code: 'start_failed', graceMs: createGraceMs },
  CrashLoopBackOff: { code: 'start_failed', graceMs: atOnce },
};

/**
 * Why a pod failed before its containers ran (`status.reason`): the kubelet refused what the scheduler gave it, or the
 * node lost its room meanwhile; the next try may go elsewhere. Sources: `pkg/kubelet/lifecycle/predicate.go` (OutOf… and
 * the scheduler's predicates, looked at again), `pkg/kubelet/nodeshutdown`, `pkg/kubelet/eviction`. Other reasons
 * (UnexpectedAdmissionError of `pkg/kubelet/cm`, …) are told as they are.
 */
const noRoomAfterAll = /^(OutOf\w+|Node\w+|TopologyAffinityError|Preempting|Evicted|Terminated|Shutdown)$/;

/** What stands in the way of a pod that does not run; null while everything takes its normal course. */
export function startTrouble(pod: PodObject): StartTrouble | null {
  const { conditions = [], initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const containers = [...initContainerStatuses, ...containerStatuses];
  const waiting = containers.map(waitingTrouble).find((trouble) => trouble !== null);
  return waiting ?? failed(pod, containers) ?? noRoom(conditions);
}

function failed({ status }: PodObject, containers: readonly ContainerStatus[]): StartTrouble | null {
  if (status?.phase !== 'Failed') return null;
  const { reason, message } = status;
  if (reason !== undefined && reason !== '') {
    const code = noRoomAfterAll.test(reason) ? 'unschedulable' : 'start_failed';
    return { code, reason, message: message ?? 'without a message', graceMs: atOnce };
  }
  const ended = containers.find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
  const { exitCode, reason: why = 'Failed', message: words } = ended?.state?.terminated ?? {};
  const who = `container ${ended?.name ?? '?'} ended with ${exitCode ?? '?'}`;
  return { code: 'start_failed', reason: why, message: `${who}: ${words ?? why}`, graceMs: atOnce };
}

function waitingTrouble({ state }: ContainerStatus): StartTrouble | null {
  const { reason, message } = state?.waiting ?? {};
  const rule = reason === undefined ? undefined : waitingRules[reason];
  if (reason === undefined || rule === undefined) return null;
  return { ...rule, reason, message: message ?? 'without a message' };
}

// `SchedulingGated` is somebody's wish and not a want of room, but nothing starts by it either.
function noRoom(conditions: readonly Condition[]): StartTrouble | null {
  const scheduled = conditions.find(({ type }) => type === 'PodScheduled');
  const { status, reason = '', message } = scheduled ?? {};
  if (status !== 'False' || (reason !== 'Unschedulable' && reason !== 'SchedulingGated')) return null;
  return { code: 'unschedulable', reason, message: message ?? 'without a message', graceMs: roomGraceMs };
}
