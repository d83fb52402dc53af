import { productionTimings } from '../model/timings.ts';
import type { CallAnswer } from '../protocol/sandboxd/wire.ts';

/** Starts a run, or attaches to it; `running` when `waitMs` passed first. */
type AskForEnd = (waitMs: number, signal: AbortSignal) => Promise<CallAnswer | 'running'>;

/** sandboxd holds one request for ten minutes at most, and a network in between needs a margin. */
const longestHoldMs = productionTimings.requestHoldMs;
/** For the answer itself, beyond the wait: a busy machine and a large output. */
const answerGraceMs = 30_000;

/**
 * Waits for the end of a run that may take longer than one request is held: the same request again attaches to it.
 * `running` when `waitMs` passed; throws what `ask` throws.
 */
export async function untilEnded(waitMs: number, ask: AskForEnd): Promise<CallAnswer | 'running'> {
  for (let leftMs = waitMs; ; leftMs -= longestHoldMs) {
    const holdMs = Math.min(leftMs, longestHoldMs);
    const answer = await ask(holdMs, AbortSignal.timeout(holdMs + answerGraceMs));
    if (answer !== 'running' || holdMs === leftMs) return answer;
  }
}
