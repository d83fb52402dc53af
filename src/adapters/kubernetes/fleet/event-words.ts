import type { Api } from '../api/calls.ts';
import { type EventList, isEventList } from '../truth/objects.ts';

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
