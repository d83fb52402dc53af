import { CorralError, Discarded, ownFailure, Unavailable } from './errors.ts';
import { type Asked, exchange, type Gateway } from './exchange.ts';
import { type Cancelled, readCancelled } from './results.ts';

/*
 * What a call means for the score whose caller gave it up by a deadline of its own. If the policy's command had begun, the time
 * was the policy's, and the rollout goes on to its grade. If it had not, the rollout waited for the infrastructure, and code that
 * goes on and grades would make a low score of that. Only the fleet knows which it was, so it is asked.
 */

/**
 * A rollout that has its sandbox admits a call within milliseconds. A call that had not begun within this time was kept waiting.
 * Without it, a policy that sends calls without a pause would find its way out of a low score between two of them.
 */
const admittedWithinMs = 1_000;

export function neverBegan(waitedMs: number): Unavailable {
  const waited = (waitedMs / 1000).toFixed(1);
  const message = `the caller's own deadline ended after ${waited} s, before the fleet had begun with the request`;
  return new Unavailable(ownFailure('never_began', message, 'infrastructure'));
}

/** Cancels the call. Why there may be no score; null: the time was the policy's. */
export async function findReason(
  gateway: Gateway,
  asked: Asked,
  waitedMs: number,
): Promise<CorralError | null> {
  try {
    const found = readCancelled((await exchange(gateway, asked)).body);
    return isKeptWaiting(found, waitedMs) ? neverBegan(waitedMs) : null;
  } catch (error) {
    return error instanceof CorralError ? toReason(error, waitedMs) : null;
  }
}

export const isKeptWaiting = ({ began, waiting }: Cancelled, waitedMs: number): boolean =>
  !began && (waiting || waitedMs >= admittedWithinMs);

function toReason(error: CorralError, waitedMs: number): CorralError | null {
  // A gateway of the previous version knows no call that has not begun.
  if (error.code === 'unknown_call') return neverBegan(waitedMs);
  const isLost = error instanceof Unavailable || error instanceof Discarded;
  // A sandbox that does not answer while it runs a command may have been starved by it.
  return isLost && error.failure.admitted !== 'yes' ? error : null;
}
