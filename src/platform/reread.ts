import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import { every, type Loop } from './every.ts';
import { errorFields } from './logging.ts';

/**
 * Read again and again instead of watched: a mounted Secret changes by a swap of links, which file watches miss. Five
 * seconds are soon enough for a revoked key and nothing for a small file.
 */
const rereadMs = 5_000;

export type Reread = {
  /** What the file holds, for people: `keys`. */
  readonly what: string;
  /** Reads it, takes it in force if it is another than before, and then returns what the log says of it; null: it is the same. */
  readonly refresh: () => Promise<Readonly<Record<string, string | number>> | null>;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
};

/** Takes changes of a file in force until the signal aborts; a broken file is told and changes nothing. */
export function reread({ what, refresh, clock, log, signal }: Reread): Loop {
  const onError = (thrown: unknown) =>
    log.error(`the file of the ${what} cannot be used; the ${what} stay as they were`, errorFields(thrown));
  return every({ intervalMs: rereadMs, clock, signal, onError }, async () => {
    const news = await refresh();
    if (news !== null) log.info(`the ${what} have changed`, news);
  });
}
