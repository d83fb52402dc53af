import { mkdtempSync, mkdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFakeLog } from '#test/fakes/log.ts';
import { createRoom, type RoomOptions } from './room.ts';
import { openStore, type Store } from './store.ts';

const gibibyte = 1024 ** 3;
const limit = { bytes: 100, files: 10 };

let folder: string;
let store: Store;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'corral-room-'));
  store = await openStore(folder, createFakeLog());
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const idOf = (name: string) => name.repeat(64);

async function addImage(name: string, bytes: number): Promise<void> {
  const number = store.nextNumber();
  const from = join(folder, 'pulls', name);
  mkdirSync(join(from, 'tree'), { recursive: true });
  await store.addLayer(number, from, { chain: name, blob: null, bytes, files: 1, ids: [0] });
  await store.saveImage({ id: idOf(name), layers: [number], config: '{}', keys: [name], usedAtMs: number });
}

const roomWith = (inUse: readonly string[], how: Partial<RoomOptions> = {}) =>
  createRoom({
    store,
    limit,
    keeps: () => ({ images: new Set(inUse.map(idOf)), layers: new Set() }),
    onEvicted: () => Promise.resolve(),
    ...how,
  });

it('images that are not used go until there is room, the oldest first', async () => {
  for (const name of ['a', 'b', 'c']) await addImage(name, 30);
  await roomWith([]).make({ bytes: 40, files: 1 }, 'new:1');
  expect(['a', 'b', 'c'].map((name) => store.findByKey(name)?.keys ?? null)).toEqual([null, ['b'], ['c']]);
});

it('an image that fits once others have ended waits, and one that can never fit is refused', async () => {
  await addImage('a', 60);
  const room = roomWith(['a']);
  await expect(room.make({ bytes: 50, files: 1 }, 'new:1')).rejects.toMatchObject({ code: 'unschedulable' });
  await expect(room.make({ bytes: 101, files: 1 }, 'new:1')).rejects.toMatchObject({ code: 'start_failed' });
  await expect(room.make({ bytes: 1, files: 11 }, 'new:1')).rejects.toMatchObject({ code: 'start_failed' });
});

const nearlyFull = () => Promise.resolve({ free: gibibyte - 1, all: 100 * gibibyte });

it('on a disk that is nearly full an image waits, whatever filled it, and no image goes for that', async () => {
  await addImage('a', 30);
  await expect(
    roomWith([], { readDisk: nearlyFull }).make({ bytes: 1, files: 1 }, 'new:1'),
  ).rejects.toMatchObject({
    code: 'unschedulable',
    message: expect.stringContaining('nearly full') as string,
  });
  expect(store.findByKey('a')).not.toBeNull();
});

it('a small disk is nearly full when a twentieth of it is free', async () => {
  const disk = (free: number) => ({ readDisk: () => Promise.resolve({ free, all: gibibyte }) });
  await roomWith([], disk(gibibyte / 20)).make({ bytes: 1, files: 1 }, 'new:1');
  await expect(
    roomWith([], disk(gibibyte / 20 - 1)).make({ bytes: 1, files: 1 }, 'new:1'),
  ).rejects.toMatchObject({ code: 'unschedulable' });
});
