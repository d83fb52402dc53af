import type { JudgeRequest } from '../../ports/judge.ts';
import type { Post } from './post.ts';
import { retryAfterMs } from './retry-after.ts';

/** What one request to a judge came to. `again`: the next one may do better, not before `afterMs` where it said so. */
export type Asked =
  | { readonly kind: 'score'; readonly score: number }
  | { readonly kind: 'again'; readonly reason: string; readonly afterMs: number | null }
  | { readonly kind: 'final'; readonly reason: string };

/** Sends the request once. Never throws: whatever goes wrong on the way is `again`, a refusal is `final`. */
export async function askOnce(
  post: Post,
  request: JudgeRequest,
  nowMs: number,
  signal: AbortSignal,
): Promise<Asked> {
  try {
    const { status, text, retryAfter } = await post(request, signal);
    return judged(status, text, retryAfterMs(retryAfter, nowMs));
  } catch (error) {
    return again(signal.aborted ? 'gave no answer in time' : `could not be reached: ${messageOf(error)}`);
  }
}

function judged(status: number, text: string, afterMs: number | null): Asked {
  if (status === 429 || status === 408 || status >= 500) return again(`answered ${status}`, afterMs);
  if (status < 200 || status >= 300)
    return { kind: 'final', reason: `answered ${status}: ${text.slice(0, 200)}` };
  const score = scoreIn(text);
  return score === null ? again(`gave no finite score: ${text.slice(0, 200)}`) : { kind: 'score', score };
}

const again = (reason: string, afterMs: number | null = null): Asked => ({ kind: 'again', reason, afterMs });

/** `{"score": 0.5}`; JSON has no NaN, but 1e999 is Infinity. */
function scoreIn(text: string): number | null {
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer !== 'object' || answer === null || !('score' in answer)) return null;
    return typeof answer.score === 'number' && Number.isFinite(answer.score) ? answer.score : null;
  } catch {
    return null;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
