import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { Failure } from '#src/failure/failure.ts';
import type { Log } from '#src/ports/log.ts';
import { lockFile, removeTree } from '../disk.ts';

/**
 * Images of one node in a folder that only root may enter, because layers have set-user-id programs:
 *
 *   layers/N    one layer: `tree`, its files with their owners as overlayfs wants them, and `layer.json`
 *   images/ID   an image: which layers, its configuration, by which names it was asked for, and when it was used last
 *   pulls/N     what is being read; removed at the next start
 *   views/NAME  where images are mounted for this node to read (`views.ts`)
 *   empty       the lowest layer of all, because an overlay takes at least two
 */
export type Layer = Static<typeof Layer>;
const Layer = Type.Object({
  /** Of its content and of all below it. */
  chain: Type.String(),
  /** As it was packed; known ones are not fetched again. */
  blob: Type.Union([Type.Object({ digest: Type.String(), size: Type.Number() }), Type.Null()]),
  bytes: Type.Number(),
  files: Type.Number(),
  /** Users and groups that own some of its files. */
  ids: Type.Array(Type.Number()),
});

export type StoredImage = Static<typeof StoredImage>;
const StoredImage = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  /** Numbers of layers, the lowest first. */
  layers: Type.Array(Type.Integer({ minimum: 1 })),
  config: Type.String(),
  keys: Type.Array(Type.String()),
  usedAtMs: Type.Number(),
});

export type Size = { readonly bytes: number; readonly files: number };

export const sum = (sizes: readonly Size[]): Size => ({
  bytes: sizes.reduce((all, { bytes }) => all + bytes, 0),
  files: sizes.reduce((all, { files }) => all + files, 0),
});

export type Store = {
  readonly folder: string;
  findByKey(key: string): StoredImage | null;
  findById(id: string): StoredImage | null;
  /** Number of the layer with this chain id. */
  layerOf(chain: string): number | null;
  layer(number: number): Layer | null;
  /** How many images there are. */
  count(): number;
  /** What all layers take. */
  size(): Size;
  /** What the layers of these images take. */
  sizeOf(images: Iterable<string>, layers: Iterable<number>): Size;
  nextNumber(): number;
  /** Takes a folder with `tree` in. */
  addLayer(number: number, from: string, layer: Layer): Promise<void>;
  /** Also over an older copy: names that it has got meanwhile stay. Throws for an image whose layers have gone away. */
  saveImage(image: StoredImage): Promise<void>;
  /** Removes a folder of a pull. */
  discard(path: string): Promise<void>;
  /** Removes the image that was used longest ago, but for these, with the layers that no other has. Null: all must stay. */
  evict(keeps: ReadonlySet<string>, layers: ReadonlySet<number>): Promise<StoredImage | null>;
  /** Lets another node use the folder. */
  close(): Promise<void>;
};

export const treeName = 'tree';
export const emptyName = 'empty';
export const lowerOf = (number: number) => join('layers', String(number), treeName);

export async function openStore(folder: string, log: Log): Promise<Store> {
  const unlock = await lockStore(folder);
  try {
    return await readStore(folder, unlock, log);
  } catch (thrown) {
    await unlock();
    throw thrown;
  }
}

async function readStore(folder: string, unlock: () => Promise<void>, log: Log): Promise<Store> {
  /** What cannot be removed is no reason to use no image at all. */
  const remove = (path: string) =>
    removeTree(path).catch((thrown: unknown) =>
      log.error('an image could not be removed', { path, error: String(thrown) }),
    );
  // Left by a node that crashed.
  for (const name of ['pulls', 'views']) await remove(join(folder, name));
  for (const name of ['', 'layers', 'images', 'pulls', 'views', emptyName])
    await mkdir(join(folder, name), { recursive: true, mode: 0o700 });
  const layers = await readLayers(folder, remove);
  const images = await readImages(folder, layers);
  await removeUnused(new Set());
  let last = Math.max(0, ...layers.keys(), ...(await numbersLeft(folder)));

  const sizeOfLayers = (numbers: Iterable<number>): Size =>
    sum([...new Set(numbers)].flatMap((number) => layers.get(number) ?? []));

  /** One after another, so that the newest is the last. */
  let writing: Promise<unknown> = Promise.resolve();
  const write = (id: string): Promise<void> => {
    const written = writing.then(() => writeImage(folder, images.get(id)));
    writing = written.catch(() => undefined);
    return written;
  };

  const isWhole = (image: StoredImage) => image.layers.every((number) => layers.has(number));
  const ifWhole = (image: StoredImage | undefined) => (image !== undefined && isWhole(image) ? image : null);

  async function removeUnused(keeps: ReadonlySet<number>): Promise<void> {
    const used = new Set([...keeps, ...[...images.values()].flatMap((image) => image.layers)]);
    const unused = [...layers.keys()].filter((number) => !used.has(number));
    // All before the first wait: no pull relies on one of them meanwhile, and no other call removes it too.
    for (const number of unused) layers.delete(number);
    for (const number of unused) {
      // Out of sight at once: a removal that a crash ends leaves no half layer.
      const gone = join(folder, 'pulls', `gone-${number}`);
      await rename(join(folder, 'layers', String(number)), gone);
      await remove(gone);
    }
  }

  return {
    folder,
    close: unlock,
    discard: remove,
    findByKey: (key) => ifWhole([...images.values()].find(({ keys }) => keys.includes(key))),
    findById: (id) => ifWhole(images.get(id)),
    layerOf: (chain) => [...layers].find(([, layer]) => layer.chain === chain)?.[0] ?? null,
    layer: (number) => layers.get(number) ?? null,
    count: () => images.size,
    size: () => sizeOfLayers(layers.keys()),
    sizeOf: (ids, numbers) =>
      sizeOfLayers([...[...ids].flatMap((id) => images.get(id)?.layers ?? []), ...numbers]),
    nextNumber: () => (last += 1),
    addLayer: async (number, from, layer) => {
      await writeFile(join(from, 'layer.json'), JSON.stringify(layer));
      await rename(from, join(folder, 'layers', String(number)));
      layers.set(number, layer);
    },
    saveImage: async (image) => {
      if (!isWhole(image)) throw new Error('its layers were removed to make room');
      images.set(image.id, mergedWith(images.get(image.id), image));
      await write(image.id);
    },
    evict: async (keeps, keptLayers) => {
      const unused = [...images.values()].filter(({ id }) => !keeps.has(id));
      const oldest = unused.toSorted((one, other) => one.usedAtMs - other.usedAtMs)[0];
      if (oldest === undefined) return null;
      images.delete(oldest.id);
      await rm(join(folder, 'images', oldest.id), { force: true });
      await removeUnused(keptLayers);
      return oldest;
    },
  };
}

/** `undefined`: it was removed before its turn. */
async function writeImage(folder: string, image: StoredImage | undefined): Promise<void> {
  if (image === undefined) return;
  const written = join(folder, 'pulls', `image-${randomUUID()}`);
  await writeFile(written, JSON.stringify(image));
  await rename(written, join(folder, 'images', image.id));
}

/** Rows can give one image any number of names. One that was forgotten is looked up again, and nothing is fetched for it. */
const mostKeys = 100;

/** Several sandboxes may save one image at once, each with its own news. */
function mergedWith(before: StoredImage | undefined, image: StoredImage): StoredImage {
  const keys = [...new Set([...(before?.keys ?? []), ...image.keys])].slice(-mostKeys);
  return { ...image, keys, usedAtMs: Math.max(before?.usedAtMs ?? 0, image.usedAtMs) };
}

const lockTimeoutMs = 3_000;

/** Layers are removed by one node that knows which of them its sandboxes use. */
async function lockStore(folder: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return lockFile(join(folder, 'lock'), AbortSignal.timeout(lockTimeoutMs)).catch((thrown: unknown) => {
    throw new Failure(
      'provider_unavailable',
      `another node uses the images in ${folder}: give each its own CORRAL_IMAGE_DIR`,
      { cause: thrown, retryAfterMs: 1000 },
    );
  });
}

/** Of what could not be removed. No pull and no layer has one of them again. */
async function numbersLeft(folder: string): Promise<readonly number[]> {
  const names = [...(await readdir(join(folder, 'pulls'))), ...(await readdir(join(folder, 'layers')))];
  return names.map((name) => Number(name.replace('gone-', ''))).filter(Number.isInteger);
}

async function readLayers(
  folder: string,
  remove: (path: string) => Promise<void>,
): Promise<Map<number, Layer>> {
  const layers = new Map<number, Layer>();
  for (const name of await readdir(join(folder, 'layers'))) {
    const path = join(folder, 'layers', name);
    const layer = await read(join(path, 'layer.json'), (value) => (Value.Check(Layer, value) ? value : null));
    if (layer === null) await remove(path);
    else layers.set(Number(name), layer);
  }
  return layers;
}

/** One whose layers are not all there is no image. */
async function readImages(
  folder: string,
  layers: ReadonlyMap<number, Layer>,
): Promise<Map<string, StoredImage>> {
  const images = new Map<string, StoredImage>();
  for (const name of await readdir(join(folder, 'images'))) {
    const path = join(folder, 'images', name);
    const image = await read(path, (value) => (Value.Check(StoredImage, value) ? value : null));
    const isWhole = image?.id === basename(path) && image.layers.every((number) => layers.has(number));
    if (isWhole) images.set(image.id, image);
    else await rm(path, { recursive: true, force: true });
  }
  return images;
}

async function read<Found>(path: string, check: (value: unknown) => Found | null): Promise<Found | null> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return check(value);
  } catch {
    return null;
  }
}
