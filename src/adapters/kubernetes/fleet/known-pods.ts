import type { SandboxId } from '#src/model/ids.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { NodeView } from '../truth/node-view.ts';
import type { PodBook } from './pod-book.ts';
import type { Removal } from './pod-calls.ts';
import type { PodView } from './pod-view.ts';

/**
 * What can be said of pods without asking the API server: the book of a watch that is in step with it, and the pods that
 * were created here a moment ago, which the watch may not have shown yet.
 */
type KnownPods = {
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

/**
 * How a sandbox is removed, and which removals were ours.
 *
 * The first time its node is asked to end it within its grace (two seconds; nothing is saved), so that the pod is gone
 * from the API when its processes are gone, and its room is free when the scheduler thinks so. Where the node is not
 * ready it would never answer, and a pod that was asked to go and is still there is stuck: those are removed at once.
 * A pod that ended by itself stays in the API until somebody removes it, and nothing of it is running any more.
 */
type Removals = {
  /** Whether a pod that has ended is to be removed now: nobody asked, or it is stuck. */
  readonly isDue: (sandbox: SandboxId) => boolean;
  next(sandbox: SandboxId, uid: string | null, node: NodeView | null): Removal;
  readonly asked: (sandbox: SandboxId) => boolean;
};

/** A healthy kubelet ends a pod and says so within its grace and a second or two. */
const stuckAfterMs = 8_000;
/** Far more than are on their way out at once. */
const remembered = 10_000;

export function createRemovals(clock: Pick<Clock, 'monotonicMs'>): Removals {
  const firstAskedAtMs = createRecent<number>(remembered);
  const isStuck = (sinceMs: number) => clock.monotonicMs() - sinceMs >= stuckAfterMs;
  return {
    isDue: (sandbox) => isStuck(firstAskedAtMs.get(sandbox) ?? Number.NEGATIVE_INFINITY),
    next: (sandbox, uid, node) => {
      const firstMs = firstAskedAtMs.get(sandbox) ?? clock.monotonicMs();
      firstAskedAtMs.set(sandbox, firstMs);
      return { uid, atOnce: isStuck(firstMs) || (node !== null && !node.ready) };
    },
    asked: (sandbox) => firstAskedAtMs.get(sandbox) !== undefined,
  };
}

/** Something about each of the sandboxes that were touched last; older ones are forgotten. */
type Recent<Value> = {
  set(sandbox: SandboxId, value: Value): void;
  get(sandbox: SandboxId): Value | undefined;
  delete(sandbox: SandboxId): void;
  values(): Iterable<Value>;
};

function createRecent<Value>(most: number): Recent<Value> {
  const values = new Map<SandboxId, Value>();
  return {
    set: (sandbox, value) => {
      values.delete(sandbox);
      values.set(sandbox, value);
      for (const oldest of values.keys()) {
        if (values.size <= most) return;
        values.delete(oldest);
      }
    },
    get: (sandbox) => values.get(sandbox),
    delete: (sandbox) => values.delete(sandbox),
    values: () => values.values(),
  };
}
