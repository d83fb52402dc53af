import type { Post } from '#demo/trainer/http.ts';
import { isObject, readObject } from '#demo/trainer/reading.ts';

/** One request as it was sent, a repeat too. Times are milliseconds since the load test began. */
export type Try = {
  readonly rollout: string;
  readonly sentMs: number;
  readonly endedMs: number;
  /** Null where the connection was lost. */
  readonly status: number | null;
  /** Who is to blame for an answer that is no success, by its own words; null where it has none. */
  readonly blame: string | null;
  /** What it is called, likewise; of a lost connection as Node calls it. */
  readonly code: string | null;
};

type Told = Pick<Try, 'blame' | 'code'>;

/** Tells every request of one rollout, whoever sends it, when it has ended. */
export function telling(post: Post, rollout: string, nowMs: () => number, tell: (one: Try) => void): Post {
  return async (url, headers, body, timeoutMs) => {
    const sentMs = nowMs();
    const ended = (status: number | null, told: Told) =>
      tell({ rollout, sentMs, endedMs: nowMs(), status, ...told });
    try {
      const reply = await post(url, headers, body, timeoutMs);
      ended(reply.status, isSuccess(reply.status) ? nothing : toldIn(reply.body));
      return reply;
    } catch (error) {
      ended(null, {
        blame: null,
        code: error instanceof Error && 'code' in error ? wordOf(error.code) : null,
      });
      throw error;
    }
  };
}

/** On the native face 201 opens, and 202 says that it still runs. */
export const isSuccess = (status: number | null): boolean =>
  status === 200 || status === 201 || status === 202;

const nothing: Told = { blame: null, code: null };

function toldIn(body: string): Told {
  const error = readObject(body)?.['error'];
  return isObject(error) ? { blame: wordOf(error['blame']), code: wordOf(error['code']) } : nothing;
}

/** Whoever answers may not be a fleet: what is no plain word is nobody's. */
const wordOf = (value: unknown): string | null =>
  typeof value === 'string' && /^[a-z_]{1,40}$/i.test(value) ? value : null;
