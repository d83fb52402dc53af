import { type JudgeRequest, withoutSecrets } from '#src/ports/judge.ts';
import type { Post } from './post.ts';
import { retryAfterMs } from './retry-after.ts';
import { meaningOf } from './status.ts';

/**
 * What one request to a judge came to. `again`: the next one may do better, not before `afterMs` where it said so.
 * `mayBeAnswer`: this answer may be why; of the others everybody's would be.
 */
export type Asked =
  | { readonly kind: 'score'; readonly score: number; readonly said?: string }
  | ({ readonly kind: 'again'; readonly afterMs: number | null } & Trouble)
  /** It answered 200 without a score: a model as judge may be talked into that. */
  | ({ readonly kind: 'nonsense'; readonly afterMs: null } & Trouble)
  | ({ readonly kind: 'refused' | 'final' } & Trouble);

type Trouble = { readonly reason: string; readonly mayBeAnswer: boolean };

/** Sends the request once. Never throws: whatever goes wrong on the way is `again`. */
export async function askOnce(
  post: Post,
  request: JudgeRequest,
  nowMs: number,
  signal: AbortSignal,
): Promise<Asked> {
  try {
    const { status, text, retryAfter } = await post(request, signal);
    return judged(status, withoutSecrets(text, request.secrets), retryAfterMs(retryAfter, nowMs));
  } catch (error) {
    return signal.aborted
      ? again('gave no answer in time', true)
      : again(`could not be reached: ${messageOf(error)}`, false);
  }
}

function judged(status: number, text: string, afterMs: number | null): Asked {
  const meaning = meaningOf(status);
  if (meaning === 'again') return again(`answered ${status}`, status >= 500, afterMs);
  const said = `answered ${status}: ${text.slice(0, 200)}`;
  if (meaning === 'ours') return { kind: 'final', reason: said, mayBeAnswer: false };
  if (meaning === 'refused') return { kind: 'refused', reason: said, mayBeAnswer: true };
  const score = scoreIn(text);
  if (score !== null) return { kind: 'score', ...score };
  const reason = `gave no finite score: ${text.slice(0, 200)}`;
  return { kind: 'nonsense', reason, afterMs: null, mayBeAnswer: true };
}

const again = (reason: string, mayBeAnswer: boolean, afterMs: number | null = null): Asked => ({
  kind: 'again',
  reason,
  mayBeAnswer,
  afterMs,
});

/** Of a judge's reason: what one line of a person's screen has room for, and then some. */
const mostSaidCharacters = 1_000;

/** `{"score": 0.5, "reason": "two of four"}`; JSON has no NaN, but 1e999 is Infinity. */
function scoreIn(text: string): { readonly score: number; readonly said?: string } | null {
  try {
    const answer: unknown = JSON.parse(text);
    if (typeof answer !== 'object' || answer === null || !('score' in answer)) return null;
    const { score } = answer;
    if (typeof score !== 'number' || !Number.isFinite(score)) return null;
    const said = 'reason' in answer && typeof answer.reason === 'string' ? answer.reason : '';
    return said === '' ? { score } : { score, said: said.slice(0, mostSaidCharacters) };
  } catch {
    return null;
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
