import type { SandboxId } from '#src/model/ids.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { PodBook } from './pod-book.ts';
import type { PodView } from './pod-view.ts';
import { createRecent } from './recent.ts';

/**
 * What can be said of pods without asking the API server: the book of a watch that is in step with it, and the pods that
 * were created here a moment ago, which the watch may not have shown yet.
 */
export type KnownPods = {
  created(view: PodView): void;
  /** The watch shows it: from now on the book knows better. */
  shown(view: PodView): void;
  readonly inStep: (book: PodBook | null) => void;
  get(sandbox: SandboxId): PodView | null;
  /** Null while no watch is in step: then only the API server knows. */
  all(): readonly PodView[] | null;
};

/** A burst is 500 pods; what was created before that many others has been shown. */
const mostCreated = 2_000;
/** A watch in step is late by milliseconds, a burst's by a second or two: what it does not show by then was deleted. */
const createdMs = 10_000;

export function createKnownPods(clock: Pick<Clock, 'monotonicMs'>): KnownPods {
  const created = createRecent<{ readonly view: PodView; readonly atMs: number }>(mostCreated);
  let book: PodBook | null = null;

  const lately = () => {
    const nowMs = clock.monotonicMs();
    const fresh = [...created.values()].filter(({ view, atMs }) => {
      return nowMs - atMs < createdMs && book?.get(view.sandbox) === null;
    });
    return fresh.map(({ view }) => view);
  };

  return {
    created: (view) => created.set(view.sandbox, { view, atMs: clock.monotonicMs() }),
    shown: ({ sandbox }) => created.delete(sandbox),
    inStep: (now) => {
      book = now;
    },
    get: (sandbox) => book?.get(sandbox) ?? created.get(sandbox)?.view ?? null,
    all: () => (book === null ? null : [...book.all(), ...lately()]),
  };
}
