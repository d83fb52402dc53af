import { Agent } from 'undici';
import { Failure } from '#src/failure/failure.ts';
import { type Judge, type Judged, type JudgeRequest, remainingHeader } from '#src/ports/judge.ts';
import { Deadline } from '#src/waiting/deadline.ts';
import { noneFailed, NotYet, type RetryDeps, retrying } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';
import { type Asked, askOnce, type Post, postOver } from './ask-once.ts';

export type HttpJudge = Judge & { close(): Promise<void> };

/** A score and a few words; more is no answer of a judge. */
const maxAnswerBytes = 1024 * 1024;
/** Per judge. All rollouts of a step are graded at about the same time. */
const maxConnections = 64;

/**
 * Asks judges over HTTP: `POST url` with the body as JSON, answered by `{"score": number}`. `timeoutMs` is for one
 * try. A `Retry-After` is obeyed if that leaves time for the try after it inside `timeoutMs × (retries + 1)`.
 *
 * A judge that refuses an answer, or says nonsense of it to the last try, is asked for the harmless one: where it scores
 * that, the answer is why, and the environment says what that is worth; else the judge is broken for everybody.
 */
export function createHttpJudge(deps: RetryDeps): HttpJudge {
  const dispatcher = new Agent({ connections: maxConnections, maxResponseSize: maxAnswerBytes });
  return { ...createJudge(deps, postOver(dispatcher)), close: () => dispatcher.close() };
}

/** The same judge over any way of sending one request. */
export function createJudge(deps: RetryDeps, post: Post): Judge {
  return {
    score: (request, signal, withinMs = longestMs(request)) =>
      scoreOf(deps, post, request, { signal, until: Deadline.in(deps.clock, withinMs), withinMs }),
  };
}

/** All tries with this answer, and as many with the harmless one. */
const longestMs = ({ timeoutMs, retries }: JudgeRequest): number => 2 * timeoutMs * (retries + 1);

/** How long the caller waits. */
type Limit = { readonly signal: AbortSignal; readonly until: Deadline; readonly withinMs: number };

async function scoreOf(deps: RetryDeps, post: Post, request: JudgeRequest, limit: Limit): Promise<Judged> {
  const failed = (trouble: Trouble, count: number) =>
    failure(request, trouble, count, limit.withinMs < longestMs(request));
  const { asked, tries } = await askUntilFinal(deps, post, request, limit);
  if (asked.kind === 'score') return { ...asked, kind: 'scored' };
  if (asked.kind !== 'refused' && asked.kind !== 'nonsense') throw failed(asked, tries);
  const control = await askUntilFinal(deps, post, { ...request, body: request.control }, limit);
  if (control.asked.kind === 'score') return { kind: 'refused', reason: `the judge ${asked.reason}` };
  const reason = `${asked.reason}; of the harmless answer: ${control.asked.reason}`;
  // It may still be about answers, where the harmless one is none to this judge: preflight finds that out.
  throw failed({ reason, mayBeAnswer: control.asked.kind === asked.kind }, tries + control.tries);
}

type Final = { readonly asked: Asked; readonly tries: number };

/** Asks until there is a score, asking again is no use, or the tries and their time are spent. */
async function askUntilFinal(
  deps: RetryDeps,
  post: Post,
  request: JudgeRequest,
  limit: Limit,
): Promise<Final> {
  const mostTries = request.retries + 1;
  const until = limit.until.orIn(request.timeoutMs * mostTries);
  const tries = noneFailed();
  const attempt = async () => {
    const asked = await askInTime(deps, post, request, limit);
    if ('afterMs' in asked) throw new NotYet(new NoScore(asked), asked.afterMs);
    return { asked, tries: tries.failed + 1 };
  };
  try {
    const policy = { ...retryPolicies.judge, mostTries };
    return await retrying(deps, policy, attempt, { until, hurry: limit.signal, tries });
  } catch (thrown) {
    if (thrown instanceof NoScore) return { asked: thrown.asked, tries: tries.failed };
    throw thrown;
  }
}

/** Of a try after which another may do better. */
class NoScore extends Error {
  readonly asked: Asked;

  constructor(asked: Asked) {
    super('the judge gave no score');
    this.asked = asked;
  }
}

/** One try, given up after `timeoutMs` or when the caller gives up. */
async function askInTime(
  { clock }: RetryDeps,
  post: Post,
  request: JudgeRequest,
  { signal, until }: Limit,
): Promise<Asked> {
  const answered = new AbortController();
  const late = new AbortController();
  const timer = clock.sleep(request.timeoutMs, answered.signal).then(() => {
    late.abort();
  });
  const remainingMs = Math.max(1, Math.min(request.timeoutMs, until.remainingMs));
  const headers = { ...request.headers, [remainingHeader]: String(remainingMs) };
  const inTime = AbortSignal.any([signal, late.signal]);
  const asked = await askOnce(post, { ...request, headers }, clock.nowMs(), inTime);
  answered.abort();
  await timer;
  return asked.kind === 'again' && signal.aborted ? { ...asked, reason: noTimeLeft } : asked;
}

const noTimeLeft = 'was given up: its turn of the grader had no time left';

type Trouble = Pick<Exclude<Asked, { kind: 'score' }>, 'reason' | 'mayBeAnswer'>;

/**
 * `isShort`: the turn had less time left than the judge may take. What came before it took the time, and this may have been commands of the
 * policy, so it is not the judge alone that failed.
 */
function failure(
  request: JudgeRequest,
  { reason, mayBeAnswer }: Trouble,
  tries: number,
  isShort: boolean,
): Failure {
  const host = URL.canParse(request.url) ? new URL(request.url).host : 'unknown';
  const suspected = mayBeAnswer ? { suspected: 'answer' } : isShort ? { suspected: 'command' } : {};
  return new Failure('grader_failed', `the judge at ${host} ${reason}`, {
    evidence: { judge: host, tries, reason, ...suspected },
  });
}
