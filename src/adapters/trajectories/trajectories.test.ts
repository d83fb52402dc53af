import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { ObjectStore } from '#src/ports/object-store.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createFolderStore } from '../object-store/folder-store.ts';
import { readTrajectories } from './read-trajectories.ts';
import { removeOld } from './retention.ts';
import { createTrajectoryLog, type TrajectoryLogOptions } from './trajectory-log.ts';

let folder: string;
let store: ObjectStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-trajectories-'));
  store = createFolderStore(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const keyOf = (rollout: string, run = 'nightly', tenant = 'acme') =>
  rolloutKey({
    tenant: tenantId(tenant),
    run: runId(run),
    rollout: rolloutId(rollout),
    attempt: 1,
    role: 'policy',
  });
const lineOf = (key: string, text: string) => `${JSON.stringify({ key, text })}\n`;

type Changes = Partial<Pick<TrajectoryLogOptions, 'maxBufferedBytes' | 'giveUp'>>;

function newLog(into = store, changes: Changes = {}) {
  const counted = { dropped: 0, written: 0 };
  const log = createFakeLog();
  const trajectories = createTrajectoryLog({
    store: into,
    // No segment waits for its time, and no try for its pause.
    clock: { ...systemClock, sleep: () => Promise.resolve() },
    random: systemRandom,
    log,
    giveUp: new AbortController().signal,
    onDropped: (lines) => void (counted.dropped += lines),
    onWritten: (bytes) => void (counted.written += bytes),
    ...changes,
  });
  const add = (key: ReturnType<typeof keyOf>, text: string) =>
    trajectories.add(Buffer.from(lineOf(key, text)), key);
  return { ...trajectories, add, counted, log };
}

async function read(run: string, only: string | null = null) {
  const unreadable: string[] = [];
  const isWanted = (key: string) => only === null || key === keyOf(only, run);
  const wanted = { tenant: null, run: runId(run), isWanted, fewRollouts: only !== null };
  const lines = await Array.fromAsync(readTrajectories(store, wanted, (name) => unreadable.push(name)));
  return { texts: lines.map((line) => (JSON.parse(line) as { text: string }).text).toSorted(), unreadable };
}

const filesIn = () =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.includes('.'))
    .toSorted();

test('a rollout is read alone by its members, from every segment and writer that has one', async () => {
  const [one, other] = [newLog(), newLog()];
  for (const step of ['1', '2']) {
    for (const [name, log] of [['x', one] as const, ['y', other] as const]) {
      log.add(keyOf('a'), `a${name}${step}`);
      log.add(keyOf('b'), `b${name}${step}`);
      log.add(keyOf('a', 'another'), 'of another run');
      await log.flush();
    }
  }
  expect((await read('nightly', 'a')).texts).toEqual(['ax1', 'ax2', 'ay1', 'ay2']);
  expect((await read('nightly')).texts).toEqual(['ax1', 'ax2', 'ay1', 'ay2', 'bx1', 'bx2', 'by1', 'by2']);
  expect((await read('another')).texts).toHaveLength(4);
  const segments = filesIn().filter((name) => name.startsWith('acme/nightly/') && name.endsWith('.gz'));
  expect(segments).toHaveLength(4);
  const packed = gunzipSync(readFileSync(join(folder, segments[0] ?? ''))).toString('utf8');
  expect(packed.trim().split('\n')).toHaveLength(2);
});

test('names of tenants and runs may be anything that an id may be', async () => {
  const run = `../a/b%2F é?${'x'.repeat(230)}`;
  const log = newLog();
  log.add(keyOf('a', run, 't/e'), 'here');
  await log.flush();
  expect((await read(run)).texts).toEqual(['here']);
});

test('a writer that died before its index left a segment that is read whole, and one that is broken is named', async () => {
  const log = newLog();
  log.add(keyOf('a'), 'first');
  await log.flush();
  const index = filesIn().find((name) => name.endsWith('.idx')) ?? '';
  rmSync(join(folder, index));
  expect(await read('nightly', 'a')).toEqual({ texts: ['first'], unreadable: [] });
  const segment = join(folder, index.replace('.idx', '.jsonl.gz'));
  writeFileSync(segment, 'not gzip');
  log.add(keyOf('a'), 'second');
  await log.flush();
  const { texts, unreadable } = await read('nightly', 'a');
  expect([texts, unreadable]).toEqual([['second'], [expect.stringContaining('000001.jsonl.gz')]]);
});

test('a store that is away costs its lines, which are counted, and never those who write', async () => {
  const away: ObjectStore = { ...store, put: () => Promise.reject(new Error('no such disk')) };
  const ending = new AbortController();
  const log = newLog(away, { maxBufferedBytes: 1000, giveUp: ending.signal });
  const startedMs = performance.now();
  for (let n = 0; n < 100; n += 1) log.add(keyOf('a'), 'x'.repeat(100));
  expect(performance.now() - startedMs).toBeLessThan(500);
  expect(log.counted.dropped).toBeGreaterThan(80);
  expect(log.log.lines.filter(({ message }) => message.includes('too slow'))).toHaveLength(1);
  ending.abort();
  await log.flush();
  expect(log.counted).toEqual({ dropped: 100, written: 0 });
  log.add(keyOf('a'), 'there is room again');
  expect(log.counted.dropped).toBe(100);
  await log.flush();
});

test('a store that is away for minutes has every line afterwards', async () => {
  let failures = 40;
  const shaky: ObjectStore = {
    ...store,
    put: async (name, bytes) => {
      failures -= 1;
      if (failures >= 0) throw new Error('busy');
      await store.put(name, bytes);
    },
  };
  const log = newLog(shaky);
  log.add(keyOf('a'), 'kept');
  await log.flush();
  expect([(await read('nightly')).texts, log.counted.dropped]).toEqual([['kept'], 0]);
});

test('a run that is being written loses its oldest segments alone', async () => {
  const log = newLog();
  for (const text of ['first', 'second', 'third']) {
    log.add(keyOf('a'), text);
    await log.flush();
  }
  const all = (await Array.fromAsync(store.list(''))).reduce((sum, { bytes }) => sum + bytes, 0);
  await removeOld(store, { keepDays: 14, maxBytes: Math.floor((all * 2) / 3) + 1 }, Date.now());
  expect((await read('nightly')).texts).toEqual(['second', 'third']);
});

const dayMs = 24 * 60 * 60 * 1000;

test('what is older than its days is removed, then the runs that were written to least recently, and no file of others', async () => {
  const log = newLog();
  const bytesOf = async () =>
    (await Array.fromAsync(store.list(''))).reduce((sum, { bytes }) => sum + bytes, 0);
  for (const run of ['oldest', 'middle', 'newest']) {
    log.add(keyOf('a', run), run);
    await log.flush();
  }
  const others = ['logs/app/2020-01-01/part.jsonl.gz', 'note.txt'];
  for (const name of others) await store.put(name, Buffer.from('of another program'));
  const all = await bytesOf();
  const now = Date.now();
  expect(await removeOld(store, { keepDays: 1, maxBytes: null }, now)).toEqual({ objects: 0, bytes: 0 });
  await removeOld(store, { keepDays: 14, maxBytes: Math.floor((all * 2) / 3) }, now);
  expect((await store.folders('acme/')).length).toBeGreaterThan(0);
  expect([(await read('oldest')).texts, (await read('newest')).texts]).toEqual([[], ['newest']]);
  await removeOld(store, { keepDays: 1, maxBytes: null }, now + 3 * dayMs);
  expect(filesIn()).toEqual(others);
});
