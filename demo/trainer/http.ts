import { Agent, request } from 'undici';

export type Reply = { readonly status: number; readonly body: string };

/** One POST of a JSON body. Rejects when the connection is lost or the time is up, by default the platform's. */
export type Post = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  timeoutMs?: number,
) => Promise<Reply>;

/** The platform gives each tool call and each grader call ten minutes. */
const requestTimeoutMs = 600_000;

export type HttpOptions = {
  /** Whether a connection serves one request after the other; else each request has its own. */
  readonly keepAlive?: boolean;
  /** Ends every request that is under way, and every later one at once. */
  readonly stop?: AbortSignal;
};

/** Opens a client with as many connections as are asked for at once: a burst must not queue on this side. */
export function openHttp({ keepAlive = true, stop }: HttpOptions = {}): {
  readonly post: Post;
  readonly close: () => Promise<void>;
} {
  const dispatcher = new Agent({
    headersTimeout: requestTimeoutMs,
    bodyTimeout: requestTimeoutMs,
    pipelining: keepAlive ? 1 : 0,
  });
  const post: Post = async (url, headers, body, timeoutMs = requestTimeoutMs) => {
    const timeUp = AbortSignal.timeout(timeoutMs);
    const reply = await request(url, {
      method: 'POST',
      dispatcher,
      headers: { ...headers, 'content-type': 'application/json' },
      body,
      signal: stop === undefined ? timeUp : AbortSignal.any([timeUp, stop]),
    });
    return { status: reply.statusCode, body: await reply.body.text() };
  };
  return { post, close: () => dispatcher.close() };
}
