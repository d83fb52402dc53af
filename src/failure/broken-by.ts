import type { LossCause } from './codes.ts';

/**
 * Why a sandbox that went down while a command ran is the command's own doing, in words for the model; null where the
 * cause does not say so. A provider tells `out_of_memory` only when the sandbox's own limit was hit, not the machine's.
 */
export function brokenBy(cause: LossCause): string | null {
  return cause === 'out_of_memory' ? 'a command used up all of its memory' : null;
}
