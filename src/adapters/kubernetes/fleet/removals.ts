import type { SandboxId } from '#src/model/ids.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { NodeView } from '../truth/node-view.ts';
import type { Removal } from './pod-calls.ts';
import { createRecent } from './recent.ts';

/**
 * How a sandbox is removed, and which removals were ours.
 *
 * The first time its node is asked to end it within its grace (two seconds; nothing is saved), so that the pod is gone
 * from the API when its processes are gone, and its room is free when the scheduler thinks so. Where the node is not
 * ready it would never answer, and a pod that was asked to go and is still there is stuck: those are removed at once.
 * A pod that ended by itself stays in the API until somebody removes it, and nothing of it is running any more.
 */
export type Removals = {
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
