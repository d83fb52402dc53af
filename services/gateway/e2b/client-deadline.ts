import type { Clock } from '#src/ports/clock.ts';
import type { ExecRequest } from '../core-interface.ts';
import { invalid } from '../http/answer-failure.ts';

/*
 * A stock client ends its stream by itself when `Connect-Timeout-Ms` is over, whatever has arrived of it by then, and raises what
 * looks like a lost sandbox. So a command's timeout must be a result before that. All that its client does not need to read that
 * result is the command's own time.
 */

/** A command runs no longer, also if its client sets no timeout. */
const longestMs = 3_600_000;
/**
 * The end of a timeout takes this long: killing the tree, storing the result, sending it. On two cores with eight busy loops it took up
 * to 440 ms, and up to 1 s for twelve sandboxes that also printed without end. So a long deadline gives more, and a short one half.
 */
const answerMs = (deadlineMs: number): number =>
  Math.min(deadlineMs / 2, Math.max(500, Math.min(1_000, deadlineMs / 20)));
/** Only a client that waits at least as long receives more output than the answer itself carries: up to 20 MiB. */
const longOutputMs = 3_000;

export type ClientDeadline = {
  readonly times: Pick<ExecRequest, 'timeoutMs' | 'waitMs' | 'killAtOnce'>;
  /** Whether the client still waits long enough to read long output. */
  readonly leavesLongOutput: () => boolean;
};

/** `header`: `Connect-Timeout-Ms`. Throws `invalid_request` if it is no time. */
export function readDeadline(
  header: string | readonly string[] | undefined,
  clock: Pick<Clock, 'monotonicMs'>,
): ClientDeadline {
  if (header === undefined)
    return { times: { timeoutMs: longestMs, waitMs: longestMs * 2 }, leavesLongOutput: () => true };
  if (typeof header !== 'string' || !/^[1-9]\d{0,9}$/.test(header))
    throw invalid('Connect-Timeout-Ms is no time');
  const deadlineMs = Number(header);
  const untilMs = clock.monotonicMs() + deadlineMs;
  return {
    times: {
      timeoutMs: Math.min(longestMs, Math.ceil(deadlineMs - answerMs(deadlineMs))),
      // A timer cannot count longer, and would end at once.
      waitMs: Math.min(longestMs * 2, deadlineMs),
      killAtOnce: true,
    },
    leavesLongOutput: () => untilMs - clock.monotonicMs() >= longOutputMs,
  };
}
