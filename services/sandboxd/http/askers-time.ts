import type { IncomingHttpHeaders } from 'node:http';
import { remainingHeader } from '#src/protocol/sandboxd/wire.ts';
import { monotonicMs } from '../clock.ts';

/** How long a step may take that by itself may take `ownMs`: less if its asker does not wait for so long. */
export type AskersTime = (ownMs: number) => number;

/** For the answer to get through on a busy machine; of a short time a quarter. */
const mostMarginMs = 5_000;

/**
 * A step ends before its asker gives up, so that the asker hears what took so long. Otherwise a disk that does not respond would look like a
 * broken connection. An older gateway does not say how long it waits, and what cannot be read counts as nothing said.
 */
export function askersTime(
  { [remainingHeader]: said }: IncomingHttpHeaders,
  nowMs: () => number = monotonicMs,
): AskersTime {
  if (typeof said !== 'string' || !/^\d{1,9}$/.test(said)) return (ownMs) => ownMs;
  const remainingMs = Number(said);
  const untilMs = nowMs() + remainingMs - Math.min(mostMarginMs, remainingMs / 4);
  return (ownMs) => Math.max(1, Math.min(ownMs, Math.floor(untilMs - nowMs())));
}
