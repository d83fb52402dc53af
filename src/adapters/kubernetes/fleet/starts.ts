import type { SandboxId } from '#src/model/ids.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { ProviderEvent } from '#src/ports/sandbox-provider.ts';
import type { Api } from '../api/calls.ts';
import { type EventList, isEventList } from '../truth/objects.ts';
import type { StartTrouble } from '../truth/start-trouble.ts';
import type { PodView } from './pod-view.ts';

/**
 * Starts that somebody here waits for, and when each is given up:
 *
 *   no trouble        shortly before the start timeout, which would only say that it was too slow: the cluster's events say why
 *   trouble           when it has lasted for its grace, at the latest shortly before the start timeout
 *   no room           the same; but while an autoscaler says that room is coming, only the start timeout counts
 *
 * A start that runs, or is gone, is nobody's concern here any more.
 */
type Starts = {
  /** Somebody waits for it from now on; again for the same sandbox changes nothing. */
  begin(sandbox: SandboxId, startTimeoutMs: number): void;
  /** The API server has its pod: its time counts from here. */
  accepted(sandbox: SandboxId): void;
  /** Nobody waits for it any more. */
  end(sandbox: SandboxId): void;
  /** What the watch says of a pod. */
  note(view: PodView): void;
  /** Gives up what is due, by events `cannot_start`. */
  check(): Promise<void>;
};

type StartsTools = {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly wordsOf: (podUid: string) => Promise<EventWords>;
  readonly tell: (event: ProviderEvent) => void;
};

type Start = {
  tellByMs: number;
  readonly startTimeoutMs: number;
  view: PodView | null;
  trouble: { readonly what: StartTrouble; readonly sinceMs: number } | null;
  scaling: boolean;
  asking: boolean;
};

/** Whoever waits must hear it before the timeout ends the waiting: room for one read of events. */
const marginMs = (startTimeoutMs: number) => Math.min(3_000, startTimeoutMs / 5);

export function createStarts({ clock, wordsOf, tell }: StartsTools): Starts {
  const starts = new Map<SandboxId, Start>();

  const giveUp = async (sandbox: SandboxId, start: Start) => {
    const words = start.view === null ? noWords : await wordsOf(start.view.uid).catch(() => noWords);
    start.asking = false;
    // It may have run, or be gone, while the events were read.
    if (starts.get(sandbox) !== start) return;
    if (words.scaling && !start.scaling && start.trouble?.what.code === 'unschedulable') {
      start.scaling = true;
      return;
    }
    starts.delete(sandbox);
    tell(cannotStart(sandbox, start, words));
  };

  return {
    begin: (sandbox, startTimeoutMs) => {
      if (!starts.has(sandbox)) starts.set(sandbox, { startTimeoutMs, ...atFirst });
    },
    accepted: (sandbox) => {
      const start = starts.get(sandbox);
      if (start === undefined) return;
      start.tellByMs = clock.monotonicMs() + start.startTimeoutMs - marginMs(start.startTimeoutMs);
    },
    end: (sandbox) => void starts.delete(sandbox),
    note: (view) => {
      const start = starts.get(view.sandbox);
      if (start === undefined) return;
      if (view.phase === 'running' || (view.phase === 'gone' && view.trouble === null)) {
        starts.delete(view.sandbox);
      } else {
        start.view = view;
        start.trouble = lasting(start.trouble, view.trouble, clock.monotonicMs());
      }
    },
    check: async () => {
      const nowMs = clock.monotonicMs();
      const due = [...starts].filter(([, start]) => !start.asking && nowMs >= dueAtMs(start));
      for (const [, start] of due) start.asking = true;
      await Promise.all(due.map(([sandbox, start]) => giveUp(sandbox, start)));
    },
  };
}

const atFirst = {
  tellByMs: Number.POSITIVE_INFINITY,
  view: null,
  trouble: null,
  scaling: false,
  asking: false,
};

function dueAtMs({ trouble, tellByMs, scaling }: Start): number {
  return trouble === null || scaling ? tellByMs : Math.min(tellByMs, trouble.sinceMs + trouble.what.graceMs);
}

// ErrImagePull and ImagePullBackOff take turns and are one trouble; the first says what the registry said.
function lasting(before: Start['trouble'], what: StartTrouble | null, nowMs: number): Start['trouble'] {
  if (what === null) return null;
  if (before === null || before.what.code !== what.code) return { what, sinceMs: nowMs };
  return what.reason === 'ImagePullBackOff' ? before : { what, sinceMs: before.sinceMs };
}

function cannotStart(sandbox: SandboxId, start: Start, { warnings }: EventWords): ProviderEvent {
  const { view, trouble, startTimeoutMs } = start;
  const last = warnings.at(-1);
  const message =
    trouble === null
      ? `its pod did not run within ${startTimeoutMs} ms${last === undefined ? '' : ` (${last})`}`
      : `${trouble.what.reason}: ${trouble.what.message}`;
  return {
    kind: 'cannot_start',
    sandbox,
    code: trouble?.what.code ?? 'start_timeout',
    message,
    evidence: {
      podUid: view?.uid ?? null,
      node: view?.node ?? null,
      reason: trouble?.what.reason ?? null,
      events: warnings.join(' | '),
      autoscaling: start.scaling,
    },
  };
}

/** What the cluster's events say of one pod. */
export type EventWords = {
  /** The last warnings, oldest first: `FailedMount: …`. */
  readonly warnings: readonly string[];
  /** An autoscaler makes room for it. */
  readonly scaling: boolean;
};

/** One pod's events are few; a crash loop's are counted, not repeated. */
const mostEvents = '50';
const warningsKept = 3;
const warningLength = 400;

/**
 * Who says that room is coming: cluster-autoscaler (`processors/status/eventing_scale_up_processor.go`) and Karpenter
 * (`pkg/controllers/provisioning/scheduling/events.go`).
 */
const scalingReasons: ReadonlySet<string> = new Set(['TriggeredScaleUp', 'Nominated']);

/** Reads a pod's events, once: only for a start that came to nothing. Without them the pod's own words must do. */
export async function eventWords(api: Api, namespace: string, podUid: string): Promise<EventWords> {
  const answer = await api.call({
    verb: 'list',
    resource: 'events',
    path: `/api/v1/namespaces/${namespace}/events`,
    query: { fieldSelector: `involvedObject.uid=${podUid}`, limit: mostEvents },
  });
  const items = isEventList(answer.value) ? answer.value.items : [];
  const warnings = items.filter(({ type }) => type === 'Warning').map(sentence);
  return {
    warnings: [...new Set(warnings)].slice(-warningsKept),
    scaling: items.some(({ reason = '' }) => scalingReasons.has(reason)),
  };
}

export const noWords: EventWords = { warnings: [], scaling: false };

const sentence = ({ reason = 'Warning', message = '' }: EventList['items'][number]) =>
  `${reason}: ${message}`.slice(0, warningLength);
