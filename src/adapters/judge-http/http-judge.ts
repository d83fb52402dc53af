import { Agent } from 'undici';
import { Failure } from '../../failure/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Judge, JudgeRequest } from '../../ports/judge.ts';
import type { Random } from '../../ports/random.ts';
import { askOnce } from './ask-once.ts';
import type { Asked } from './ask-once.ts';
import { postOver } from './post.ts';
import type { Post } from './post.ts';

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
 */
export function createHttpJudge(deps: Deps): HttpJudge {
  const dispatcher = new Agent({ connections: maxConnections, maxResponseSize: maxAnswerBytes });
  return { ...createJudge(deps, postOver(dispatcher)), close: () => dispatcher.close() };
}

/** The same judge over any way of sending one request. */
export function createJudge(deps: Deps, post: Post): Judge {
  return { score: (request, signal) => askUntilScored(deps, post, request, signal) };
}

async function askUntilScored(
  deps: Deps,
  post: Post,
  request: JudgeRequest,
  signal: AbortSignal,
): Promise<number> {
  const untilMs = deps.clock.monotonicMs() + request.timeoutMs * (request.retries + 1);
  for (let tries = 1; ; tries += 1) {
    const asked = await askInTime(deps, post, request, signal);
    if (asked.kind === 'score') return asked.score;
    if (asked.kind === 'final' || tries > request.retries || signal.aborted)
      throw failed(request, asked, tries);
    const pauseMs = asked.afterMs ?? backOffMs(tries, deps.random);
    if (deps.clock.monotonicMs() + pauseMs >= untilMs) throw failed(request, asked, tries);
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

function failed(request: JudgeRequest, asked: Exclude<Asked, { kind: 'score' }>, tries: number): Failure {
  const host = URL.canParse(request.url) ? new URL(request.url).host : 'unknown';
  return new Failure('grader_failed', `the judge at ${host} ${asked.reason}`, {
    evidence: { judge: host, tries, reason: asked.reason },
  });
}
