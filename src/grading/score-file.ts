import { longestScoreBytes } from '../protocol/sandboxd/wire.ts';

/** The finite number that a score file holds, alone or on a line; null where it holds anything else. */
export function scoreIn(text: string): number | null {
  if (text.trim() === '' || text.length > longestScoreBytes) return null;
  const score = Number(text);
  return Number.isFinite(score) ? score : null;
}
