import type { Dispatcher } from 'undici';
import { LinkError } from '#src/ports/sandbox-link.ts';

/** One request on one connection. Throws `not_sent` for what happened before a connection took it, else `maybe_sent`. */
export async function dispatch(
  dispatcher: Dispatcher,
  options: Dispatcher.RequestOptions,
  until: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const begun = { isSent: false };
  const abortion = abortionOf(until);
  try {
    const answer = noticing(dispatcher, begun).request({ ...options, signal: until });
    answer.catch(() => {}); // Its loss is told by the race.
    // A request that still waits for a connection does not hear its signal.
    return await Promise.race([answer, abortion.happens]);
  } catch (error) {
    throw begun.isSent ? maybeSent(error) : new LinkError({ kind: 'not_sent', detail: reasonOf(error) });
  } finally {
    abortion.forget();
  }
}

/** Notes the moment at which a request is given to an established connection, before its first byte is written. */
function noticing(dispatcher: Dispatcher, begun: { isSent: boolean }): Dispatcher {
  return dispatcher.compose((next) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context) => {
      begun.isSent = true;
      start?.(controller, context);
    };
    return next(options, handler);
  });
}

/** Rejects when the signal aborts, until it is forgotten. */
function abortionOf(signal: AbortSignal): { readonly happens: Promise<never>; readonly forget: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  const fail = () => reject(new Error(reasonOf(signal.reason)));
  if (signal.aborted) fail();
  signal.addEventListener('abort', fail, { once: true });
  return { happens: promise, forget: () => signal.removeEventListener('abort', fail) };
}

/** It broke after bytes may have left. */
export function maybeSent(error: unknown): LinkError {
  return new LinkError({ kind: 'maybe_sent', detail: reasonOf(error) });
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
