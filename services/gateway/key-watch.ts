import { readFile } from 'node:fs/promises';
import { formatKeyFile } from '../../src/access/key-file.ts';
import { createKeyRing, emptyKeyRing } from '../../src/access/key-ring.ts';
import type { KeyRing } from '../../src/access/key-ring.ts';
import { errorFields } from '../../src/platform/logging.ts';
import { every } from '../../src/platform/every.ts';
import type { Loop } from '../../src/platform/every.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/log.ts';

/**
 * Read again and again instead of watched: a mounted Secret changes by a swap of links, which file watches miss. Five
 * seconds are soon enough for a revoked key and nothing for a small file.
 */
const refreshMs = 5_000;

/**
 * The keys of a file, none where no file is configured. With `mayBeMissing` a file that is not there has no keys until
 * somebody makes it; otherwise that is an error, because a gateway that knows nobody is a mistake.
 */
export function openKeyRing(path: string | null, mayBeMissing: boolean): Promise<KeyRing> {
  if (path === null) return Promise.resolve(emptyKeyRing);
  return createKeyRing(() =>
    readFile(path, 'utf8').catch((error: unknown) => {
      if (mayBeMissing && isMissing(error)) return formatKeyFile([]);
      throw error;
    }),
  );
}

const isMissing = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOENT';

/** Takes changes of the key file in force until the signal aborts; a broken file is told and changes nothing. */
export function watchKeys(ring: KeyRing, clock: Clock, log: Log, signal: AbortSignal): Loop {
  const onError = (thrown: unknown) =>
    log.error('the key file cannot be read; the keys stay as they were', errorFields(thrown));
  return every({ intervalMs: refreshMs, clock, signal, onError }, async () => {
    if ((await ring.refresh()) === 'changed') log.info('the keys have changed', { keys: ring.keys().length });
  });
}
