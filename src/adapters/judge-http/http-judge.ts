import { Agent } from 'undici';
import { Failure } from '#src/failure/failure.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Judge, Judged, JudgeRequest } from '#src/ports/judge.ts';
import type { Random } from '#src/ports/random.ts';
import { type Asked, askOnce } from './ask-once.ts';
import { type Post, postOver } from './post.ts';

export type HttpJudge = Judge & { close(): Promise<void> };

type Deps = { readonly clock: Clock; readonly random: Random };

/** Judges are often models behind a rate limit: doubling from half a second gives them room without losing minutes. */
const firstPauseMs = 500;
const longestPauseMs = 30_000;

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
export function createHttpJudge(deps: Deps): HttpJudge {
  const dispatcher = new Agent({ connections: maxConnections, maxResponseSize: maxAnswerBytes });
  return { ...createJudge(deps, postOver(dispatcher)), close: () => dispatcher.close() };
}

/** The same judge over any way of sending one request. */
export function createJudge(deps: Deps, post: Post): Judge {
  return { score: (request, signal) => scoreOf(deps, post, request, signal) };
}

async function scoreOf(deps: Deps, post: Post, request: JudgeRequest, signal: AbortSignal): Promise<Judged> {
  const { asked, tries } = await askUntilFinal(deps, post, request, signal);
  if (asked.kind === 'score') return { kind: 'scored', score: asked.score };
  if (asked.kind !== 'refused' && asked.kind !== 'nonsense') throw failed(request, asked, tries);
  const control = await askUntilFinal(deps, post, { ...request, body: request.control }, signal);
  if (control.asked.kind === 'score') return { kind: 'refused', reason: `the judge ${asked.reason}` };
  const reason = `${asked.reason}; of the harmless answer: ${control.asked.reason}`;
  // It may still be about answers, where the harmless one is none to this judge: preflight finds that out.
  throw failed(request, { reason, mayBeAnswer: control.asked.kind === asked.kind }, tries + control.tries);
}

type Final = { readonly asked: Asked; readonly tries: number };

/** Asks until there is a score, asking again is no use, or the tries and their time are spent. */
async function askUntilFinal(
  deps: Deps,
  post: Post,
  request: JudgeRequest,
  signal: AbortSignal,
): Promise<Final> {
  const untilMs = deps.clock.monotonicMs() + request.timeoutMs * (request.retries + 1);
  for (let tries = 1; ; tries += 1) {
    const asked = await askInTime(deps, post, request, signal);
    const isOver = !('afterMs' in asked) || tries > request.retries || signal.aborted;
    if (isOver) return { asked, tries };
    const pauseMs = asked.afterMs ?? backOffMs(tries, deps.random);
    if (deps.clock.monotonicMs() + pauseMs >= untilMs) return { asked, tries };
    await deps.clock.sleep(pauseMs, signal);
  }
}

/** One try, given up after `timeoutMs` or when the caller gives up. */
async function askInTime(
  { clock }: Deps,
  post: Post,
  request: JudgeRequest,
  signal: AbortSignal,
): Promise<Asked> {
  const answered = new AbortController();
  const late = new AbortController();
  const timer = clock.sleep(request.timeoutMs, answered.signal).then(() => {
    late.abort();
  });
  const asked = await askOnce(post, request, clock.nowMs(), AbortSignal.any([signal, late.signal]));
  answered.abort();
  await timer;
  return asked;
}

/** Full jitter: judges that failed together are not asked again together. */
function backOffMs(tries: number, random: Random): number {
  return Math.min(longestPauseMs, firstPauseMs * 2 ** (tries - 1)) * (0.5 + random.next() / 2);
}

type Trouble = Pick<Exclude<Asked, { kind: 'score' }>, 'reason' | 'mayBeAnswer'>;

function failed(request: JudgeRequest, { reason, mayBeAnswer }: Trouble, tries: number): Failure {
  const host = URL.canParse(request.url) ? new URL(request.url).host : 'unknown';
  return new Failure('grader_failed', `the judge at ${host} ${reason}`, {
    evidence: { judge: host, tries, reason, ...(mayBeAnswer && { suspected: 'answer' }) },
  });
}
