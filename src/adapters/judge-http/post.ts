import { type Dispatcher, request } from 'undici';
import type { JudgeRequest } from '#src/ports/judge.ts';

/** What a judge answered, before anybody has looked whether it is a score. */
export type Posted = {
  readonly status: number;
  readonly text: string;
  /** The header as it came. */
  readonly retryAfter: string | string[] | undefined;
};

/** Sends a request once and reads the whole answer. Rejects when there is none, or only a part of one. */
export type Post = (request: JudgeRequest, signal: AbortSignal) => Promise<Posted>;

export function postOver(dispatcher: Dispatcher): Post {
  return async ({ url, headers, body }, signal) => {
    const response = await request(url, {
      dispatcher,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
      body,
      signal,
    });
    // Read to its end whatever the status, so that the connection can be used again.
    const text = await response.body.text();
    return { status: response.statusCode, text, retryAfter: response.headers['retry-after'] };
  };
}
