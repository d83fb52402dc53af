import type { Written } from '../model/written.ts';
import type { Sample } from './graders/evaluation.ts';

/** One megabyte is the platforms' own bound; a little more, for a sample at the bound. What is longer is a wrong answer. */
const mostSampleBytes = 1024 * 1024 + 64 * 1024;

/**
 * So much of one is kept all the same: it names the calls of its rollout, and whether they all reached us decides before
 * any answer does. A million characters fit into it, each escaped, and in both places where platforms put the last message.
 */
export const mostKeptSampleBytes = 4 * 1024 * 1024;

/** Bytes of a sample that is too long to be graded by what it says; null for all others. */
export function tooLongBytes(sample: Written): number | null {
  const bytes = typeof sample === 'string' ? Buffer.byteLength(sample) : sample.tooLongBytes;
  return bytes > mostSampleBytes ? bytes : null;
}

/** Parsed anew by everybody who looks at it, because gradings are held for minutes. Nothing where nothing was kept. */
export function readSample(sample: Written): Sample {
  return typeof sample === 'string' ? (JSON.parse(sample) as Sample) : {};
}
