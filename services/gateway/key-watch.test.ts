import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createKey } from '#src/access/keys.ts';
import { formatKeyFile } from '#src/access/key-file.ts';
import { tenantId } from '#src/model/ids.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { FleetEvent } from '#src/ports/event-log.ts';
import type { Log } from '#src/ports/log.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { mountSecret } from '#test/support/mounted-secret.ts';
import { openKeyRing, watchKeys } from './key-watch.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-keys-'));
  path = join(folder, 'keys.json');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const { key } = createKey(
  { id: 'trainer', tenant: tenantId('acme'), scopes: ['native'], defaultRun: null, expiresAtMs: null },
  systemRandom,
);
const silent = (): void => undefined;
let events: FleetEvent[];
const record = (event: FleetEvent): void => void events.push(event);
beforeEach(() => {
  events = [];
});

it('a key file that is made, swapped and broken while the gateway runs: the last good one is in force', async () => {
  const errors: string[] = [];
  const log: Log = {
    debug: silent,
    info: silent,
    warn: silent,
    error: (message) => void errors.push(message),
  };
  const ring = await openKeyRing(path, true);
  const stop = new AbortController();
  const watch = watchKeys(ring, { clock: systemClock, log, signal: stop.signal, record });
  expect(ring.keys()).toEqual([]);

  await writeFile(join(folder, 'new'), formatKeyFile([key]));
  await rename(join(folder, 'new'), path);
  watch.poke();
  await expect.poll(() => ring.keys()).toEqual([key]);

  await writeFile(path, 'half a fi');
  watch.poke();
  await expect.poll(() => errors.length).toBe(1);
  expect(ring.keys()).toEqual([key]);
  expect(events).toEqual([
    {
      kind: 'keys_changed',
      atMs: expect.any(Number),
      keyId: null,
      added: ['trainer'],
      removed: [],
      changed: [],
      keys: 1,
    },
  ]);

  await writeFile(path, formatKeyFile([{ ...key, scopes: ['admin'] }]));
  watch.poke();
  await expect.poll(() => events.length).toBe(2);
  await writeFile(path, formatKeyFile([]));
  watch.poke();
  await expect.poll(() => events.length).toBe(3);
  expect(events.slice(1)).toMatchObject([
    { added: [], removed: [], changed: ['trainer'], keys: 1 },
    { added: [], removed: ['trainer'], changed: [], keys: 0 },
  ]);
  expect(JSON.stringify(events)).not.toContain(key.sha256);
  stop.abort();
  await watch.done;
});

it('the keys of a mounted Secret whose links are swapped are in force, without a restart', async () => {
  const secret = await mountSecret(join(folder, 'secret'), 'keys.json', formatKeyFile([]));
  const ring = await openKeyRing(secret.path, false);
  const stop = new AbortController();
  const log = createFakeLog();
  const watch = watchKeys(ring, { clock: systemClock, log, signal: stop.signal, record });
  await secret.write(formatKeyFile([key]));
  watch.poke();
  await expect.poll(() => ring.keys()).toEqual([key]);
  expect(log.lines).toMatchObject([{ message: 'the keys have changed', fields: { keys: 1 } }]);
  stop.abort();
  await watch.done;
});

it('a key file that must be there and is not: no start', async () => {
  await expect(openKeyRing(path, false)).rejects.toThrow(/ENOENT/);
});
