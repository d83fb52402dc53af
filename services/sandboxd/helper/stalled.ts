import type { StartedProcess } from '../command/spawn-as.ts';
import { killTree } from '../processes/kill-tree.ts';

/*
 * A helper runs as the policy's user, which may stop it; then a transfer would stand until whoever asked for it gives up, and that
 * looks like a failure of ours: a way out of a low score. Killed in time it is told as what it is.
 */

/** All in all, so that a helper that is let go on now and then is no way around it; half of what a transfer may take. */
const mostStalledMs = 300_000;
const lookEveryMs = 1_000;

/**
 * Kills a helper once it has kept its transfer waiting for so long. `isItsTurn`: whether nobody else does, for who sends or reads
 * slowly is no doing of the policy's. Returns how to stop looking.
 */
export function killWhenStalled(
  { pid, child }: StartedProcess,
  isItsTurn: () => boolean,
  [mostMs, everyMs] = [mostStalledMs, lookEveryMs],
): () => void {
  let stalledMs = 0;
  const looking = setInterval(() => {
    if (child.exitCode !== null || child.signalCode !== null) return clearInterval(looking);
    if (isItsTurn()) stalledMs += everyMs;
    if (stalledMs < mostMs) return;
    clearInterval(looking);
    void killTree(pid);
  }, everyMs);
  return () => clearInterval(looking);
}
