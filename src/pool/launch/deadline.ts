import type { Clock } from '#src/ports/clock.ts';

/** The time a launch had is over; which step it stood in is known to whoever catches this. */
export class DeadlinePassed extends Error {
  readonly timeoutMs: number;

  constructor(timeoutMs: number) {
    super(`not done within ${timeoutMs} ms`);
    this.name = 'DeadlinePassed';
    this.timeoutMs = timeoutMs;
  }
}

/**
 * Runs `work` with a signal that aborts after `timeoutMs` with {@link DeadlinePassed}, or with `outer`. Settles at the
 * latest then, also when `work` does not listen to its signal.
 */
export async function withDeadline<Result>(
  clock: Clock,
  timeoutMs: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const finished = new AbortController();
  const deadline = new AbortController();
  const signal = AbortSignal.any([outer, deadline.signal]);
  void clock.sleep(timeoutMs, finished.signal).then(() => {
    if (!finished.signal.aborted) deadline.abort(new DeadlinePassed(timeoutMs));
  });
  try {
    return await unlessAborted(work(signal), signal);
  } finally {
    finished.abort();
  }
}

/** The work's own end, or the signal's reason as soon as it aborts. */
async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason as Error);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
