import type { LossCause } from '#src/failure/codes.ts';
import type { SandboxId } from '#src/model/ids.ts';
import { sandboxAddress, type SandboxAddress } from '#src/model/rollout.ts';
import type { ProvidedSandbox } from '#src/ports/sandbox-provider.ts';
import { sandboxContainerName } from '../pod/container.ts';
import { readMarks } from '../pod/labels.ts';
import { type Ending, endingOf, hasItsLimitPromised, killedForMemoryAtMs, toldBy } from '../truth/ending.ts';
import { type NodeView, tolerationsThatMatter } from '../truth/node-view.ts';
import { isPod, type PodObject, type Toleration } from '../truth/objects.ts';
import { startTrouble, type StartTrouble } from '../truth/start-trouble.ts';

/** What is kept of a pod: half a kilobyte where the object has five. */
export type PodView = ProvidedSandbox & {
  readonly uid: string;
  readonly node: string | null;
  /** Of its node's taints, which it bears. */
  readonly tolerations: readonly Toleration[];
  /** The kubelet's `status.startTime`. */
  readonly startedAtMs: number | null;
  /** Why it does not run; null where it does, or takes its normal course. */
  readonly trouble: StartTrouble | null;
  /** It is marked for deletion, and what for; null where it is not. */
  readonly marked: LossCause | null;
  /** When its container was killed for memory, whoever lacked it, by its node's clock; null where it was not. */
  readonly killedForMemoryAtMs: number | null;
  /** Its memory request is its limit. */
  readonly memoryPromised: boolean;
  /** What its end is told as, as far as is known now. */
  readonly ending: Ending;
};

export type ViewContext = {
  /** Where sandboxd listens in every pod. */
  readonly port: number;
  readonly nodeOf: (name: string) => NodeView | null;
  /** Whether we asked for its removal. */
  readonly asked: (sandbox: SandboxId) => boolean;
};

/** Null for what is no pod of ours, whatever its labels say. */
export function podView(object: unknown, context: ViewContext): PodView | null {
  if (!isPod(object)) return null;
  const marks = readMarks(marksOf(object));
  if (marks === null) return null;
  const { metadata, spec, status } = object;
  const node = spec?.nodeName === undefined ? null : context.nodeOf(spec.nodeName);
  const asked = context.asked(marks.sandbox);
  const address = addressOf(object, context.port);
  const phase = phaseOf(object, address);
  const facts = { pod: object, node, container: sandboxContainerName, asked };
  return {
    ...marks,
    uid: metadata.uid,
    phase,
    address: phase === 'running' ? address : null,
    createdAtMs: Date.parse(metadata.creationTimestamp),
    startedAtMs: status?.startTime === undefined ? null : Date.parse(status.startTime),
    node: spec?.nodeName ?? null,
    tolerations: tolerationsThatMatter(spec?.tolerations ?? []),
    trouble: phase === 'running' ? null : startTrouble(object),
    marked: metadata.deletionTimestamp === undefined || asked ? null : (toldBy(object, node) ?? 'deleted'),
    killedForMemoryAtMs: phase === 'gone' ? killedForMemoryAtMs(facts) : null,
    memoryPromised: hasItsLimitPromised(object, sandboxContainerName),
    ending: endingOf(facts),
  };
}

const marksOf = ({ metadata: { labels = {}, annotations = {} } }: PodObject) => ({ labels, annotations });

function phaseOf(pod: PodObject, address: SandboxAddress | null): ProvidedSandbox['phase'] {
  const phase = pod.status?.phase;
  // Its restart policy is Never: a container that ended stays so, even before the kubelet says it of the pod.
  if (phase === 'Failed' || phase === 'Succeeded' || ownState(pod)?.terminated !== undefined) return 'gone';
  return address === null ? 'starting' : 'running';
}

function addressOf(pod: PodObject, port: number): SandboxAddress | null {
  const ip = pod.status?.podIP;
  if (ip === undefined || ip === '' || ownState(pod)?.running === undefined) return null;
  return sandboxAddress(`http://${ip.includes(':') ? `[${ip}]` : ip}:${port}`);
}

const ownState = ({ status }: PodObject) =>
  status?.containerStatuses?.find(({ name }) => name === sandboxContainerName)?.state;

/** As a list of the port shows them: a pod that has ended is no sandbox, though its object may stay for a while. */
export function providedOf(views: readonly PodView[]): readonly ProvidedSandbox[] {
  return views
    .filter(({ phase }) => phase !== 'gone')
    .map(({ sandbox, template, phase, address, createdAtMs, owner, expiresAtMs }) => {
      return { sandbox, template, phase, address, createdAtMs, owner, expiresAtMs };
    });
}
