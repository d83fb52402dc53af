import type { Written } from '../model/written.ts';
import type { KeptText } from '../ports/fleet/calls.ts';

/**
 * What is kept of a call's texts for graders. Forty calls of an honest model fit into what one rollout may keep; of what is
 * longer than anybody reads, the beginning of what was asked for, and beginning and end of what came of it.
 */

const mostArgumentBytes = 4_096;
/** Half of them the first, half the last. */
export const mostOutputCharacters = 4_096;

/** Of arguments that were too long for any call, nothing is known but their length. */
export function keptArguments(written: Written): KeptText {
  if (typeof written !== 'string') return { text: '', whole: written.tooLongBytes };
  const bytes = Buffer.from(written);
  return { text: firstBytes(bytes, mostArgumentBytes), whole: bytes.length };
}

/** Ends before a character that would be cut in two. */
function firstBytes(bytes: Buffer, most: number): string {
  if (bytes.length <= most) return bytes.toString('utf8');
  return new TextDecoder().decode(bytes.subarray(0, most), { stream: true });
}

export function keptOutput(output: string): KeptText {
  const whole = output.length;
  if (whole <= mostOutputCharacters) return { text: output.toWellFormed(), whole };
  const half = mostOutputCharacters / 2;
  const text = output.slice(0, half).toWellFormed() + output.slice(-half).toWellFormed();
  return { text, whole };
}
