import { Readable } from 'node:stream';
import { type Dispatcher, request } from 'undici';
import { type JudgeBody, type JudgeRequest, withoutSecrets } from '#src/ports/judge.ts';

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

/** How long a `Retry-After` header asks to wait, from seconds or an HTTP date; null where there is none that we can read. */
export function retryAfterMs(header: string | string[] | undefined, nowMs: number): number | null {
  if (typeof header !== 'string') return null;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const dateMs = Date.parse(header);
  return Number.isNaN(dateMs) ? null : Math.max(0, dateMs - nowMs);
}

/**
 * What a judge's status says, before anybody looks at its words.
 *
 *   score    2xx: the score is in the body
 *   again    429, 5xx, and 408, 425: it is busy or broken; the next try may do better
 *   ours     the statuses below and redirects: wrong for every answer alike, so the environment or its secret is wrong
 *   refused  every other 4xx, such as 400, 403 (a filter in front of it), 413, 422, 451: perhaps about this answer
 *
 * `refused` proves nothing by itself: a model's name that is wrong gives 400 to everybody. So the judge is asked for a
 * harmless answer next, and only where it scores that, the answer is to blame.
 */
type StatusMeaning = 'score' | 'again' | 'ours' | 'refused';

function meaningOf(status: number): StatusMeaning {
  if (status >= 200 && status < 300) return 'score';
  if (status >= 500 || passing.has(status)) return 'again';
  return status < 400 || sameForAll.has(status) ? 'ours' : 'refused';
}

const passing = new Set([408, 425, 429]);

const sameForAll = new Set([
  401, // no key, or a wrong one
  402, // its account is empty
  404, // no such address
  405, // no POST there
  406, // it has no JSON
  407, // a proxy wants a key
  410, // the address is gone
  411, // it wants no stream, and gets none
  414, // the address is too long
  415, // it takes no JSON
  421, // another host's address
  426, // another protocol
  431, // our headers are too large
]);

/** What a judge answered, before anybody has looked whether it is a score. */
export type Posted = {
  readonly status: number;
  readonly text: string;
  /** The header as it came. */
  readonly retryAfter: string | string[] | undefined;
};

/** Sends a request once and reads the whole answer. Rejects when there is none, or only a part of one. */
export type Post = (request: JudgeRequest, signal: AbortSignal) => Promise<Posted>;

export function postOver(dispatcher: Dispatcher): Post {
  return async ({ url, headers, body }, signal) => {
    // With a length: servers that read no chunked body exist.
    const length = { 'content-length': String(sentBytes(body)) };
    const response = await request(url, {
      dispatcher,
      method: 'POST',
      headers: { ...headers, ...length, 'content-type': 'application/json', accept: 'application/json' },
      body: Readable.from(sent(body), { highWaterMark: 1 }),
      signal,
    });
    // Read to its end whatever the status, so that the connection can be used again.
    const text = await response.body.text();
    return { status: response.statusCode, text, retryAfter: response.headers['retry-after'] };
  };
}

/** A multiple of 3, so that slices of base64 join without filling. A slice takes a fraction of a millisecond. */
const sliceBytes = 96 * 1024;

/** Slice by slice, as fast as the judge reads: no request has its files in memory a second time, and none holds up the others. */
function* sent(body: JudgeBody): Generator<Buffer> {
  for (const piece of body) {
    if (typeof piece === 'string') yield Buffer.from(piece);
    else
      for (let at = 0; at < piece.length; at += sliceBytes)
        yield Buffer.from(piece.toString('base64', at, at + sliceBytes), 'latin1');
  }
}

const sentBytes = (body: JudgeBody): number =>
  body.reduce(
    (sum, piece) =>
      sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : Math.ceil(piece.length / 3) * 4),
    0,
  );
