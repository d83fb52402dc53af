import type { ProviderEvent } from '#src/ports/sandbox-provider.ts';

type Gone = Extract<ProviderEvent, { kind: 'gone' }>;
/** Node is the parent of its sandboxes: of none of them it is ever in doubt. */
export type NodeEvent = Extract<ProviderEvent, { kind: 'listed' | 'running' | 'gone' }>;
export type Listener = (event: NodeEvent) => void;

/** What happens to sandboxes, told to whoever watches. */
export type Feed = {
  tell(event: NodeEvent): void;
  /** Returns how to stop. */
  listen(listener: Listener): () => void;
  /** The latest ends, oldest first, for a watcher that was away. */
  recentlyGone(): readonly Gone[];
};

/** A fleet on one machine ends some thousand sandboxes between two connections of a watcher at the very most. */
const rememberedEnds = 2000;

export function createFeed(): Feed {
  const listeners = new Set<Listener>();
  const ends: Gone[] = [];
  return {
    tell: (event) => {
      if (event.kind === 'gone') ends.push(event);
      if (ends.length > rememberedEnds) ends.shift();
      for (const listener of listeners) listener(event);
    },
    listen: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    recentlyGone: () => [...ends],
  };
}
