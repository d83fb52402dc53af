import { Failure } from '../failure/failure.ts';

/** A score is a number on a line; what is longer than this is not read. */
export const longestScoreBytes = 256;

/**
 * The number in a score file. Nonsense in there is the grader's own fault, so it is never a score: throws
 * `grader_failed`.
 */
export function parseScore(text: string): number {
  const score = text.trim() === '' ? Number.NaN : Number(text);
  if (Number.isFinite(score)) return score;
  const seen = text.trim().slice(0, 100);
  throw new Failure(
    'grader_failed',
    `the grader's score file holds no finite number: ${JSON.stringify(seen)}`,
    {
      evidence: { score_file: seen },
    },
  );
}
