import { readFile } from 'node:fs/promises';
import { formatKeyFile, createKeyRing, emptyKeyRing, type KeyRing } from '#src/access/key-file.ts';
import type { ApiKey } from '#src/access/keys.ts';
import { type Loop, reread } from '#src/platform/every.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { Log } from '#src/ports/log.ts';

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

export type KeyWatchDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly record: (event: FleetEvent) => void;
};

/** Takes changes of the key file in force until the signal aborts; a broken file is told and changes nothing. */
export function watchKeys(ring: KeyRing, { record, ...deps }: KeyWatchDeps): Loop {
  const refresh = async () => {
    const before = ring.keys();
    if ((await ring.refresh()) === 'unchanged') return null;
    record(keysChanged(before, ring.keys(), deps.clock.nowMs()));
    return { keys: ring.keys().length };
  };
  return reread({ what: 'keys', refresh, ...deps });
}

/** Of each kind of change: a file of thousands of new keys is no line of megabytes. */
const mostNamed = 100;

const named = (keys: readonly ApiKey[]) => keys.slice(0, mostNamed).map(({ id }) => id);

/** Which keys came, went, or may something else now. Ids only: a hash is of no use to who reads it. */
function keysChanged(before: readonly ApiKey[], after: readonly ApiKey[], atMs: number): FleetEvent {
  const old = new Map(before.map((key) => [key.id, JSON.stringify(key)]));
  const left = new Set(after.map(({ id }) => id));
  const changed = after.filter((key) => old.has(key.id) && old.get(key.id) !== JSON.stringify(key));
  return {
    kind: 'keys_changed',
    atMs,
    keyId: null,
    added: named(after.filter(({ id }) => !old.has(id))),
    removed: named(before.filter(({ id }) => !left.has(id))),
    changed: named(changed),
    keys: after.length,
  };
}
