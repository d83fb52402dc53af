import type { V1Pod } from '@kubernetes/client-node';
import { Failure } from '#src/failure/failure.ts';
import type { PodSettings } from '#src/model/cluster.ts';
import type { SandboxId } from '#src/model/ids.ts';
import { type Owner, rolloutKey } from '#src/model/rollout.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import type { Random } from '#src/ports/random.ts';
import type { ProviderEvent, SandboxProvider } from '#src/ports/sandbox-provider.ts';
import { type ApiOptions, type CallMeasure, createApi } from './api/calls.ts';
import { createConnections } from './api/connections.ts';
import type { Credentials } from './api/credentials.ts';
import { createHostUsers, madeWithoutIds } from './fleet/host-users.ts';
import { createKnownPods, createRemovals } from './fleet/known-pods.ts';
import { createNodeBook } from './fleet/node-book.ts';
import { createPodCalls, exists, type PodCalls } from './fleet/pod-calls.ts';
import { podView, type PodView, providedOf } from './fleet/pod-view.ts';
import { createStarts, eventWords } from './fleet/starts.ts';
import { watchFleet } from './fleet/watch-fleet.ts';
import { fleetSelector, ownerPatch } from './pod/labels.ts';
import { podFor } from './pod/pod.ts';
import { type Collection, listAll } from './watch/collection.ts';

export type KubernetesProviderOptions = {
  readonly credentials: Credentials;
  readonly pods: PodSettings;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Told of every call of the Kubernetes API as it ends, and of every watch as it begins. */
  readonly onCall: (measure: CallMeasure) => void;
};

export type KubernetesProvider = SandboxProvider & {
  /** Ends its connections; a watch is ended by its own signal. */
  close(): Promise<void>;
};

/** An answer that has not begun by then is not coming: the server itself gives up on a call after a minute. */
const answerTimeoutMs = 10_000;
/** Bookmarks come about once a minute: two missed ones mean that nobody is there. */
const watchSilenceMs = 150_000;
/** How soon a start that is due is given up, and a pod that has ended is removed; graces are seconds. */
const checkEveryMs = 500;

/**
 * The provider of a cluster: a sandbox is a pod, and everything known of it is in the API server. At most three writes
 * a rollout (create, one patch, delete); no reads but the two watches and their lists, and one for a start that failed.
 */
export function createKubernetesProvider(given: KubernetesProviderOptions): KubernetesProvider {
  const { credentials, pods: settings, clock, log } = given;
  const connections = createConnections({ server: credentials.server, answerTimeoutMs, watchSilenceMs });
  const options: ApiOptions = { ...given, connections };
  const api = createApi(options);
  const calls = createPodCalls(api, settings.namespace);
  const nodes = createNodeBook();
  const hostUsers = createHostUsers({ settings, nodes, log });
  const known = createKnownPods(clock);
  const removals = createRemovals(clock);
  const watchers = new Set<(event: ProviderEvent) => void>();
  const starts = createStarts({
    clock,
    wordsOf: (podUid) => eventWords(api, settings.namespace, podUid),
    tell: (event) => watchers.forEach((watcher) => watcher(event)),
  });
  const viewOf = (object: unknown) =>
    podView(object, { port: settings.port, nodeOf: nodes.of, asked: removals.asked });
  const onTrouble = (resource: string, thrown: unknown) =>
    log.warn(`the watch of ${resource} was cut and begins again`, { reason: reasonOf(thrown) });
  const collection: Collection = {
    resource: 'pods',
    path: `/api/v1/namespaces/${settings.namespace}/pods`,
    labelSelector: fleetSelector(settings.fleet),
  };

  const remove = async (sandbox: SandboxId) => {
    const view = known.get(sandbox);
    const node = view === null || view.node === null ? null : nodes.of(view.node);
    const removal = removals.next(sandbox, view?.uid ?? null, node);
    // Another controller has asked for it, or somebody else: asking again would only be one more write.
    if (removal.atOnce || view === null || view.marked === null) await calls.remove(sandbox, removal);
  };
  // What could not be removed now is still there the next time.
  const sweep = async () => {
    const ended = (known.all() ?? []).filter(({ phase }) => phase === 'gone');
    const due = ended.map(({ sandbox }) => sandbox).filter(removals.isDue);
    await Promise.allSettled(due.map(remove));
  };

  return {
    create: async (request) => {
      starts.begin(request.sandbox, request.template.startTimeoutMs);
      const pod = podFor(request, settings, hostUsers.wants(request));
      const object = await createOrAdopt(calls, request.sandbox, pod);
      const view = viewOf(object);
      if (view?.sandbox !== request.sandbox) throw notOurs(request.sandbox);
      if (pod.spec?.hostUsers === false && !hostUsers.mayUse(object, request)) {
        starts.end(request.sandbox);
        await remove(request.sandbox);
        throw madeWithoutIds();
      }
      starts.accepted(request.sandbox);
      known.created(view);
    },
    destroy: async (sandbox) => {
      starts.end(sandbox);
      await remove(sandbox);
    },
    list: async () => {
      const inStep = known.all();
      const views = inStep ?? (await listAll(api, collection, viewOf)).views;
      return providedOf(views);
    },
    label: async (sandbox, owner, expiresAtMs) => {
      // A rollout may end before it is labelled; what is on its way out needs no owner, and no read to find that out.
      if (removals.asked(sandbox)) return;
      const view = known.get(sandbox) ?? viewOf(await calls.read(sandbox));
      if (view === null || isLabelled(view, owner, expiresAtMs)) return;
      await calls.patch(sandbox, patchOf(view, owner, expiresAtMs));
    },
    limitations: async () => [podsLimitProcesses, ...hostUsers.limitations()],
    watch: async (onEvent, signal) => {
      watchers.add(onEvent);
      const onPod = (view: PodView) => {
        known.shown(view);
        starts.note(view);
      };
      const watch = { options, api, nodes, viewOf, onEvent, onPod, onTrouble, pods: collection };
      await Promise.all([
        watchFleet({ ...watch, onInStep: known.inStep }, signal),
        repeatUntil(signal, clock, () => Promise.all([starts.check(), sweep()])),
      ]);
      watchers.delete(onEvent);
    },
    close: () => connections.close(),
  };
}

/** Its process limit is the kubelet's, the same for every pod of a node. */
const podsLimitProcesses =
  'the number of processes of a sandbox is limited by the kubelet (podPidsLimit), not by its template';

/** The created pod, or the one that an earlier create of the same sandbox had made. */
async function createOrAdopt(calls: PodCalls, sandbox: SandboxId, pod: V1Pod): Promise<unknown> {
  const created = await calls.create(sandbox, pod);
  return created === exists ? calls.read(sandbox) : created;
}

function notOurs(sandbox: SandboxId): Failure {
  const message = `a pod with the name of sandbox ${sandbox} is there, and it is not this fleet's`;
  return new Failure('start_failed', message, { evidence: { sandbox } });
}

// With its uid in it the patch is refused for another pod of the name. A pod that has not started counts from its creation.
function patchOf(view: PodView, owner: Owner, expiresAtMs: number): object {
  const patch = ownerPatch(owner, expiresAtMs, view.startedAtMs ?? view.createdAtMs);
  return { ...patch, metadata: { ...patch.metadata, uid: view.uid } };
}

/** Another controller may have written the same. */
function isLabelled(view: PodView, owner: Owner, expiresAtMs: number): boolean {
  if (view.owner === null || view.expiresAtMs === null) return false;
  // Annotations hold whole milliseconds.
  return rolloutKey(view.owner) === rolloutKey(owner) && Math.abs(view.expiresAtMs - expiresAtMs) < 1;
}

const reasonOf = (thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown));

async function repeatUntil(signal: AbortSignal, clock: Clock, work: () => Promise<unknown>): Promise<void> {
  while (!signal.aborted) {
    await work();
    await clock.sleep(checkEveryMs, signal);
  }
}
