import { readFile } from 'node:fs/promises';
import { formatKeyFile } from '../../src/access/key-file.ts';
import { createKeyRing, emptyKeyRing } from '../../src/access/key-ring.ts';
import type { KeyRing } from '../../src/access/key-ring.ts';
import type { Loop } from '../../src/platform/every.ts';
import { reread } from '../../src/platform/reread.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Log } from '../../src/ports/log.ts';

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
  const refresh = async () => ((await ring.refresh()) === 'changed' ? { keys: ring.keys().length } : null);
  return reread({ what: 'keys', refresh, clock, log, signal });
}
