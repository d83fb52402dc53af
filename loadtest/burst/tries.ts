import type { Post } from '../../demo/trainer/http.ts';
import { isObject, readObject } from '../../demo/trainer/reading.ts';

/** One request as it was sent, a repeat too. Times are milliseconds since the load test began. */
export type Try = {
  readonly rollout: string;
  readonly sentMs: number;
  readonly endedMs: number;
  /** Null where the connection was lost. */
  readonly status: number | null;
  /** Who is to blame for an answer that is no success, by its own words; null where it has none. */
  readonly blame: string | null;
};

/** Tells every request of one rollout, whoever sends it, when it has ended. */
export function telling(post: Post, rollout: string, nowMs: () => number, tell: (one: Try) => void): Post {
  return async (url, headers, body, timeoutMs) => {
    const sentMs = nowMs();
    const ended = (status: number | null, blame: string | null) =>
      tell({ rollout, sentMs, endedMs: nowMs(), status, blame });
    try {
      const reply = await post(url, headers, body, timeoutMs);
      ended(reply.status, isSuccess(reply.status) ? null : blameIn(reply.body));
      return reply;
    } catch (error) {
      ended(null, null);
      throw error;
    }
  };
}

/** On the native face 201 opens, and 202 says that it still runs. */
export const isSuccess = (status: number | null): boolean =>
  status === 200 || status === 201 || status === 202;

function blameIn(body: string): string | null {
  const error = readObject(body)?.['error'];
  const blame = isObject(error) ? error['blame'] : null;
  return typeof blame === 'string' ? blame : null;
}
