import type { Evidence } from '#src/failure/failure.ts';
import { mayBePolicys } from '#src/failure/verdict.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Api } from '../api/calls.ts';
import type { Ending } from '../truth/ending.ts';
import { type EventList, isEventList } from '../truth/objects.ts';
import type { PodView } from './pod-view.ts';

/**
 * A container was killed for memory: was it the sandbox at its own limit, or the node that had none left? The pod says the
 * same of both. The kubelet reports the second by an event about the node, `SystemOOM` (`pkg/kubelet/oom`), a moment
 * before or after the pod's end. So such an end is kept back for that long, and the pod is shown as it was:
 *
 *   open ── its time has come ──▶ asked ── no such event, and the request is the limit ──▶ concluded   its own
 *    ▲                             │  ├─── such an event ────────────────────────────────▶ concluded   the node's, marked
 *    │                             │  └─── the request is lower, or no events can be read ▶ concluded   unknown, marked
 *    └── they could not be read ───┘
 *
 * Neither answer is a proof for the policy. The kubelet takes the event from the kernel's log, into which a policy can bring
 * the words of one: names of processes and mapped files. So it is marked. And without an event the shortage may be that of all
 * pods of the node together, which is reported nowhere. If requests are lower than limits, other sandboxes can bring it
 * about, and it must not count against this one. If its request is its limit, the kernel takes others first: the kubelet gives
 * each process a score of 1000 less the pod's share of the machine by request, so only a pod above its request exceeds 1000
 * (https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-out-of-memory-behavior).
 */
export type Inquests = {
  /** The pod as it may be told now; null: not at all yet, and it has never been told. */
  shown(view: PodView, before: PodView | null): PodView | null;
  /** Its object is gone, and with it what could be found out: the pod with its end as far as it is known. */
  closed(view: PodView): PodView;
  /** Whatever is not among these pods is closed. */
  keepOnly(views: readonly PodView[]): void;
  /** Looks into those whose time has come; the pods with what was found, each once. */
  conclude(): Promise<readonly PodView[]>;
};

export type InquestTools = {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The node's own events of that kind; rejects when they cannot be read. */
  readonly shortagesOf: (node: string) => Promise<readonly Shortage[]>;
};

/** A node had no memory left, once or again and again, by its own clock. */
export type Shortage = { readonly fromMs: number; readonly toMs: number; readonly says: string };

type Inquest = { view: PodView; readonly openedAtMs: number };

/** The kubelet hears of both within a second, and sends them one after another; a busy node takes longer. */
const settleMs = 3_000;
/** An API server that is away for longer than this is not coming back in time for whoever waits for the call. */
const patienceMs = 10_000;
/** Kills of one shortage follow each other, and the container's end is told in whole seconds. */
const nearMs = 10_000;

export function createInquests({ clock, shortagesOf }: InquestTools): Inquests {
  const open = new Map<string, Inquest>();
  const concluded = new Map<string, Ending>();

  const conclusionOf = async (inquest: Inquest, asked: Promise<readonly Shortage[] | string>) => {
    const shortages = await asked;
    const { view, openedAtMs } = inquest;
    const unread = typeof shortages === 'string';
    // It may have been closed while the events were read.
    if (open.get(view.uid) !== inquest) return null;
    if (unread && clock.monotonicMs() - openedAtMs < patienceMs) return null;
    open.delete(view.uid);
    const ending = unread ? untold(view.ending, shortages) : judged(view, shortages);
    concluded.set(view.uid, ending);
    return { ...view, ending };
  };

  return {
    shown: (view, before) => {
      const ending = concluded.get(view.uid);
      if (ending !== undefined) return { ...view, ending };
      if (view.killedForMemoryAtMs === null) {
        // Whoever asked for its removal meanwhile has its end explained.
        open.delete(view.uid);
        return view;
      }
      const inquest = open.get(view.uid);
      if (inquest === undefined) open.set(view.uid, { view, openedAtMs: clock.monotonicMs() });
      else inquest.view = view;
      return before?.uid === view.uid ? before : null;
    },
    closed: (view) => {
      const ending = concluded.get(view.uid);
      concluded.delete(view.uid);
      if (ending !== undefined) return { ...view, ending };
      const cutShort = open.delete(view.uid) && view.killedForMemoryAtMs !== null;
      return cutShort ? { ...view, ending: untold(view.ending, 'its pod was deleted') } : view;
    },
    keepOnly: (views) => {
      const there = new Set(views.map(({ uid }) => uid));
      for (const known of [open, concluded])
        for (const uid of known.keys()) if (!there.has(uid)) known.delete(uid);
    },
    conclude: async () => {
      const nowMs = clock.monotonicMs();
      const due = [...open.values()].filter(({ openedAtMs }) => nowMs - openedAtMs >= settleMs);
      // A whole step may end so at once: each node is asked once for all of its pods.
      const byNode = Map.groupBy(due, ({ view }) => view.node ?? '');
      const views = [...byNode].flatMap(([node, inquests]) => {
        const asked = shortagesOf(node).catch(reasonOf);
        return inquests.map((inquest) => conclusionOf(inquest, asked));
      });
      return (await Promise.all(views)).filter((view) => view !== null);
    },
  };
}

/** Where the node's events were read. */
export function judged(
  {
    killedForMemoryAtMs: atMs,
    memoryPromised,
    ending,
  }: Pick<PodView, 'killedForMemoryAtMs' | 'memoryPromised' | 'ending'>,
  shortages: readonly Shortage[],
): Ending {
  if (atMs === null) return ending;
  const near = shortages.find(({ fromMs, toMs }) => atMs >= fromMs - nearMs && atMs <= toMs + nearMs);
  if (near !== undefined) {
    return {
      cause: 'node_out_of_memory',
      evidence: { ...mayBePolicys, ...ending.evidence, nodeEvent: near.says },
    };
  }
  return memoryPromised ? ending : unknown(ending, { memoryRequest: 'below the limit' });
}

/** This cause is always marked. */
const unknown = ({ evidence }: Ending, why: Evidence): Ending => ({
  cause: 'sandboxd_killed',
  evidence: { ...evidence, ...why },
});

const untold = (ending: Ending, why: string): Ending =>
  unknown(ending, { nodeEvents: `could not be read: ${why}` });

const reasonOf = (thrown: unknown) => (thrown instanceof Error ? thrown.message : String(thrown));

/** Events about nodes are kept in this namespace. */
export const nodeEventsPath = '/api/v1/namespaces/default/events';
/** Of one node and kind; the kubelet joins those that are alike. */
const mostEvents = '500';

/** Asks the API server for a node's shortages of memory. Rejects when it refuses or is not there. */
export async function readShortages(api: Api, node: string): Promise<readonly Shortage[]> {
  const fieldSelector = `involvedObject.kind=Node,involvedObject.name=${node},reason=SystemOOM`;
  const query = { fieldSelector, limit: mostEvents };
  const answer = await api.call({ verb: 'list', resource: 'events', path: nodeEventsPath, query });
  if (answer.status !== 200 || !isEventList(answer.value))
    throw new Error(`the API server answered ${answer.status}`);
  return answer.value.items.map(shortageOf);
}

function shortageOf({
  message = '',
  firstTimestamp,
  lastTimestamp,
  eventTime,
}: EventList['items'][number]): Shortage {
  const fromMs = Date.parse(firstTimestamp ?? eventTime ?? '');
  return { fromMs, toMs: Date.parse(lastTimestamp ?? eventTime ?? firstTimestamp ?? ''), says: message };
}
