import { Agent, request } from 'undici';
import type { Clock } from '#src/ports/clock.ts';
import type { Random } from '#src/ports/random.ts';

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

type HttpOptions = {
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

/** How often the platforms repeat a request that ended in 5xx or a lost connection, before they discard. */
const mostRetries = 3;

/** First back-off; it doubles each time. The platforms publish no figure, half a second is what their clients use. */
const firstBackOffMs = 500;

/**
 * What came of one request with all its tries. `failure` is the last one's where all tries failed: a 5xx reply, or the
 * words of the connection error.
 */
export type Delivery = { readonly retries: number } & (
  | { readonly kind: 'answered'; readonly reply: Reply }
  | { readonly kind: 'gave_up'; readonly reply: Reply | null; readonly lost: string | null }
);

/** Sends until an answer below 500 comes or the retries are used up. `send` is the same request each time. */
export async function deliver(
  send: () => Promise<Reply>,
  world: { readonly clock: Clock; readonly random: Random },
): Promise<Delivery> {
  for (let retries = 0; ; retries += 1) {
    const { reply, lost } = await attempt(send);
    if (reply !== null && reply.status < 500) return { kind: 'answered', reply, retries };
    if (retries === mostRetries) return { kind: 'gave_up', reply, lost, retries };
    await world.clock.sleep(backOffMs(retries, world.random.next()));
  }
}

/** Half to all of the doubled wait, so that copies that failed together do not come back together. */
function backOffMs(retry: number, chance: number): number {
  return firstBackOffMs * 2 ** retry * (0.5 + chance / 2);
}

async function attempt(send: () => Promise<Reply>) {
  try {
    return { reply: await send(), lost: null };
  } catch (error) {
    return { reply: null, lost: error instanceof Error ? error.message : String(error) };
  }
}
