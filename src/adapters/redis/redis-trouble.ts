import { ReplyError } from 'ioredis';
import { Failure } from '#src/failure/failure.ts';

/** Answers of a Redis that is there but cannot serve now: loading, no memory, a replica, another password, a script that does not end. */
const notServing = /^(LOADING|NOAUTH|WRONGPASS|MASTERDOWN|READONLY|OOM|BUSY|MISCONF|CLUSTERDOWN|TRYAGAIN)\b/;

/**
 * What went wrong between us and Redis, as a failure. Every script may be sent again, so it does not matter whether
 * one that got no answer has run. An error of a script itself is a defect and stays what it is: unclassified.
 */
export function classifyTrouble(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || thrown instanceof Failure || thrown instanceof UnfitRedis) return thrown;
  if (!(thrown instanceof ReplyError)) return unavailable(thrown.message, thrown);
  if (thrown.message.startsWith('RECOVERING')) return recovering(thrown);
  return notServing.test(thrown.message) ? unavailable(thrown.message, thrown) : thrown;
}

/** A Redis that must not hold fleet state: somebody has to change it, and waiting does not help. */
export class UnfitRedis extends Error {
  override readonly name = 'UnfitRedis';
}

/** A Redis that was restarted without its disk has no functions. */
export function isMissingFunction(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.message.startsWith('ERR Function not found');
}

/** A second is about what a reconnection takes. */
const retryAfterMs = 1_000;

export function unavailable(detail: string, cause?: unknown): Failure {
  return new Failure(
    'state_unavailable',
    `fleet state does not answer (Redis: ${detail}); try again shortly`,
    {
      retryAfterMs,
      evidence: { redis: detail.slice(0, 200) },
      cause,
    },
  );
}

function recovering(cause: Error): Failure {
  return new Failure(
    'recovering',
    'Redis was restarted or replaced; the controller is writing the fleet back, try again shortly',
    { retryAfterMs, cause },
  );
}
