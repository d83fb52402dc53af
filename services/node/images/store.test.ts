import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createFakeLog } from '#test/fakes/log.ts';
import { openStore, type Store } from './store.ts';

let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'corral-store-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const idOf = (name: string) => name.repeat(64);
const log = createFakeLog();
const nothing: ReadonlySet<never> = new Set();

async function addLayer(store: Store, chain: string): Promise<number> {
  const number = store.nextNumber();
  const from = join(folder, 'pulls', chain);
  mkdirSync(join(from, 'tree'), { recursive: true });
  await store.addLayer(number, from, { chain, blob: null, bytes: 10, files: 1, ids: [0] });
  return number;
}

const addImage = (store: Store, name: string, layers: readonly number[], usedAtMs: number) =>
  store.saveImage({ id: idOf(name), layers: [...layers], config: '{}', keys: [name], usedAtMs });

/** Two images that share the lowest layer. */
async function filledStore(): Promise<Store> {
  const store = await openStore(folder, log);
  const [base, one, two] = [
    await addLayer(store, 'base'),
    await addLayer(store, 'one'),
    await addLayer(store, 'two'),
  ];
  await addImage(store, 'a', [base, one], 1);
  await addImage(store, 'b', [base, two], 2);
  return store;
}

it('the image that was used longest ago goes, with the layers that no other has', async () => {
  const store = await filledStore();
  expect(store.size()).toEqual({ bytes: 30, files: 3 });
  expect((await store.evict(nothing, nothing))?.id).toBe(idOf('a'));
  expect([store.layerOf('base'), store.layerOf('one'), store.layerOf('two')]).toEqual([1, null, 3]);
  expect(readdirSync(join(folder, 'layers')).toSorted()).toEqual(['1', '3']);
  await store.close();
});

it('an image in use stays, and so does a layer that a pull relies on', async () => {
  const store = await filledStore();
  expect((await store.evict(new Set([idOf('a')]), new Set([3])))?.id).toBe(idOf('b'));
  expect(store.layerOf('two')).toBe(3);
  expect(await store.evict(new Set([idOf('a')]), nothing)).toBeNull();
  expect(store.sizeOf([idOf('a')], [1, 3])).toEqual({ bytes: 30, files: 3 });
  await store.close();
});

it('what a crash left is removed at the next start, and the rest is as it was', async () => {
  const store = await filledStore();
  await addLayer(store, 'of no image');
  await store.close();
  mkdirSync(join(folder, 'layers/9/tree'), { recursive: true });
  mkdirSync(join(folder, 'pulls/7'), { recursive: true });
  writeFileSync(join(folder, 'images', idOf('c')), '{"id":');
  rmSync(join(folder, 'layers/2'), { recursive: true });
  const next = await openStore(folder, log);
  expect(next.findByKey('a')).toBeNull();
  expect(next.findByKey('b')).toMatchObject({ layers: [1, 3] });
  expect(readdirSync(join(folder, 'layers')).toSorted()).toEqual(['1', '3']);
  expect(existsSync(join(folder, 'pulls/7'))).toBe(false);
  await next.close();
});

it('an old copy of an image brings back none whose layers are gone', async () => {
  const store = await filledStore();
  const old = store.findByKey('a');
  await store.evict(nothing, nothing);
  await expect(old === null ? Promise.resolve() : store.saveImage(old)).rejects.toThrow('were removed');
  expect([store.findByKey('a'), store.findById(idOf('a'))]).toEqual([null, null]);
  await store.close();
});

it('images that are saved at once, from old copies, lose no name', async () => {
  const store = await filledStore();
  const old = { id: idOf('a'), layers: [1, 2], config: '{}', usedAtMs: 5 };
  await Promise.all(['x', 'y', 'z'].map((key) => store.saveImage({ ...old, keys: [key] })));
  await store.close();
  const next = await openStore(folder, log);
  expect(next.findById(idOf('a'))?.keys.toSorted()).toEqual(['a', 'x', 'y', 'z']);
  await next.close();
});

/** Folders in folders, with a path that is longer than the kernel takes. */
const makeDeep = (at: string) => execFileSync('mkdir', ['-p', `${'a'.repeat(203)}/`.repeat(20)], { cwd: at });

it('a layer with paths that are too long for the kernel is removed like any other', async () => {
  const store = await filledStore();
  makeDeep(join(folder, 'layers/2/tree'));
  expect((await store.evict(nothing, nothing))?.id).toBe(idOf('a'));
  expect(readdirSync(join(folder, 'pulls'))).toEqual([]);
  await store.close();
  for (const left of ['pulls/7', 'layers/9']) {
    mkdirSync(join(folder, left));
    makeDeep(join(folder, left));
  }
  const next = await openStore(folder, log);
  expect(readdirSync(join(folder, 'pulls'))).toEqual([]);
  expect(readdirSync(join(folder, 'layers')).toSorted()).toEqual(['1', '3']);
  await next.close();
});

it('two nodes never use one folder', async () => {
  const store = await openStore(folder, log);
  await expect(openStore(folder, log)).rejects.toMatchObject({ code: 'provider_unavailable' });
  await store.close();
  await (await openStore(folder, log)).close();
});

it('of an image with any number of names the newest are kept', async () => {
  const store = await filledStore();
  const layers = store.findByKey('a')?.layers ?? [];
  for (let index = 0; index < 150; index += 1)
    await store.saveImage({ id: idOf('a'), layers, config: '{}', keys: [`a:${index}`], usedAtMs: index });
  expect(store.findByKey('a:149')?.keys).toHaveLength(100);
  expect(store.findByKey('a')).toBeNull();
  await store.close();
});
