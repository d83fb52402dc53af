import type { Server } from 'node:http';
import type { Clock } from '#src/ports/clock.ts';
import type { App } from './app.ts';
import type { HoldGate } from './hold-gate.ts';

/*
 * How a gateway leaves:
 *
 *   leaving   it serves as ever, but is not ready, and ends every connection with its answer: whoever spreads requests
 *             needs seconds to hear of it, and would find a closed door meanwhile. Who hears of it late keeps it here: it
 *             closes when nobody has come for a while, or when that has taken three times as long as it should
 *   closing   connections that nobody used meanwhile end, or their next request would find a closed door; nothing new,
 *             `shutting_down`; what is held finishes
 *   cut off   what is still held is told `shutting_down` too: a repeat at another gateway joins what was begun here
 *   closed    answers that are on their way have gone out, and every connection ends
 */

export type Leaving = {
  /** The shortest time in which it leaves; up to three times as long while new requests arrive. */
  readonly drainDelayMs: number;
  /** How long after that held requests may finish. */
  readonly graceMs: number;
  /** Aborted: cut off at once. */
  readonly hurry: AbortSignal;
  /** When all are answered, just before the door closes; it may take as long as an answer's last bytes. */
  readonly lastWord?: () => Promise<void>;
};

/** Longer than an answer waits for a request that is still on its way; its own bytes are out in milliseconds. */
const lastWordsMs = 2_000;

export type Leave = (leaving: Leaving) => Promise<void>;

/** To be called before the application listens. */
export function createLeave(app: App, gate: HoldGate, clock: Clock): Leave {
  const answers = watchAnswers(app.server);
  return async ({ drainDelayMs, graceMs, hurry, lastWord }) => {
    gate.leave();
    await untilNobodyComes(gate, drainDelayMs, clock, hurry);
    app.server.closeIdleConnections();
    const over = new AbortController();
    const graceOver = clock.sleep(graceMs, AbortSignal.any([hurry, over.signal]));
    await Promise.race([gate.close(), graceOver]);
    gate.cutOff();
    // A file that is being sent is not held any more, and cannot be answered otherwise.
    await Promise.race([answers.allSent(), graceOver]);
    await Promise.race([answers.allSent(), clock.sleep(lastWordsMs, over.signal)]);
    await Promise.race([lastWord?.(), clock.sleep(lastWordsMs, over.signal)]);
    over.abort();
    const closed = app.close();
    // Node would wait for a connection that has never sent anything.
    app.server.closeAllConnections();
    await closed;
  };
}

/** How many times its delay a gateway leaves at most: a client that knows only this one must not keep it for ever. */
export const longestLeaving = 3;

/**
 * A load balancer that asks each ten seconds and believes the third refusal needs half a minute, and no delay is long enough for
 * all of them. A third of it in which nobody has come says that nobody is sent here any more.
 */
export async function untilNobodyComes(
  gate: Pick<HoldGate, 'entered'>,
  drainDelayMs: number,
  clock: Clock,
  hurry: AbortSignal,
): Promise<void> {
  const quietMs = drainDelayMs / 3;
  await clock.sleep(drainDelayMs - quietMs, hurry);
  const longestUntilMs = clock.monotonicMs() + quietMs + drainDelayMs * (longestLeaving - 1);
  let before = -1;
  while (gate.entered > before && clock.monotonicMs() < longestUntilMs) {
    before = gate.entered;
    await clock.sleep(quietMs, hurry);
  }
}

/** Follows every answer until its last byte has left this process, or its client has gone. */
function watchAnswers(server: Server) {
  let unsent = 0;
  let sent = Promise.withResolvers<void>();
  server.on('request', (_request, response) => {
    unsent += 1;
    response.once('close', () => {
      unsent -= 1;
      if (unsent > 0) return;
      sent.resolve();
      sent = Promise.withResolvers();
    });
  });
  return { allSent: () => (unsent === 0 ? Promise.resolve() : sent.promise) };
}
