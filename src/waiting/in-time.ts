import type { Clock } from '../ports/clock.ts';
import type { Deadline } from './deadline.ts';

/** The result, or `late` when the deadline comes first; then it is still on its way, and nobody hears how it ends. */
export async function inTime<Result>(
  clock: Clock,
  deadline: Deadline,
  result: Promise<Result>,
): Promise<Result | 'late'> {
  const settled = new AbortController();
  const timeIsUp = clock.sleep(deadline.remainingMs, settled.signal).then(() => 'late' as const);
  result.catch(() => undefined);
  try {
    return await Promise.race([result, timeIsUp]);
  } finally {
    // With a reason at hand no error is made, which each call would pay for.
    settled.abort('settled');
  }
}
