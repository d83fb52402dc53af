import type { LossCause } from './codes.ts';
import type { Evidence } from './failure.ts';

/** In a loss's evidence, set by a provider: commands ran under sandboxd's own id, so any of them could end it. */
export const commandsAsSandboxd = { commandsRunAs: 'sandboxd' } as const satisfies Evidence;

/**
 * Why a sandbox that went down after its first command is the doing of what ran there, also in the background, in words
 * for the model; null where cause and evidence do not say so. A provider tells `out_of_memory` and `out_of_disk` only
 * when the sandbox's own limit was hit, not the machine's. An end of sandboxd speaks against commands only where they
 * can end it: by a kill, or by asking it to stop, at which it exits by itself.
 */
export function brokenBy(cause: LossCause, evidence: Evidence): string | null {
  if (cause === 'out_of_memory') return 'a command used up all of its memory';
  if (cause === 'out_of_disk') return 'a command filled its disk';
  const couldKill = evidence['commandsRunAs'] === commandsAsSandboxd.commandsRunAs;
  const hasEnded = cause === 'sandboxd_killed' || cause === 'sandbox_exited';
  return hasEnded && couldKill ? 'a command killed the process that runs commands' : null;
}
