import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';
import { jittered, longestPauseMs } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';
import type { Api, ApiOptions } from '../api/calls.ts';
import { type Collection, listAll, type Stream, watchFrom } from './collection.ts';

export type Follower<View> = {
  /** Only what is needed of an object; null for one that is not ours to follow. */
  readonly viewOf: (object: unknown) => View | null;
  /** Everything that exists; whatever was known and is not in it is gone. */
  readonly onListed: (views: readonly View[]) => void;
  readonly onChanged: (view: View) => void;
  readonly onDeleted: (view: View) => void;
  /** The stream broke, or could not be begun; it is begun again by itself. */
  readonly onTrouble: (thrown: unknown) => void;
};

/**
 * Follows a collection until the signal aborts; never rejects.
 *
 *   list ──▶ watch from the list's version ── ended or broke ──▶ watch from the last version seen
 *    ▲                                              │
 *    └──────────── history is gone (410) ◀──────────┘
 *
 * Bookmarks move the version on while nothing changes, so that a watch of a quiet collection can resume. A stream that
 * the server ends because we read too slowly is one that ended. Every new try waits its turn, as `createBackOff` says.
 */
export async function follow<View>(
  options: ApiOptions,
  api: Api,
  collection: Collection,
  follower: Follower<View>,
  signal: AbortSignal,
): Promise<void> {
  const backOff = createBackOff(options.clock, options.random);
  let stream: Stream | null = null;
  while (!signal.aborted) {
    try {
      stream ??= await list(api, collection, follower, backOff.reset, signal);
      if (signal.aborted) return;
      const end = await watchFrom(options, collection, stream, signal);
      if (end === 'expired') stream = null;
    } catch (thrown) {
      if (!signal.aborted) follower.onTrouble(thrown);
    }
    await backOff.pause(signal);
  }
}

async function list<View>(
  api: Api,
  collection: Collection,
  { viewOf, onListed, onChanged, onDeleted }: Follower<View>,
  onLine: () => void,
  signal: AbortSignal,
): Promise<Stream> {
  const { version, views } = await listAll(api, collection, viewOf);
  if (!signal.aborted) onListed(views);
  return {
    version,
    onLine,
    onChange: ({ type, object }) => {
      const view = viewOf(object);
      if (view === null || signal.aborted) return;
      if (type === 'deleted') onDeleted(view);
      else onChanged(view);
    },
  };
}

/** Pauses between tries that bring nothing: doubled each time, so that a server in trouble is not asked to death. */
type BackOff = {
  /** Something came: the next pause is the first again. */
  readonly reset: () => void;
  pause(signal: AbortSignal): Promise<void>;
};

/** Many controllers are not to return as one. */
function createBackOff(clock: Clock, random: Random): BackOff {
  let failed = 0;
  return {
    reset: () => {
      failed = 0;
    },
    pause: async (signal) => {
      failed += 1;
      const { pauses } = retryPolicies.clusterWatch;
      await clock.sleep(jittered(longestPauseMs(pauses, failed), random), signal);
    },
  };
}
