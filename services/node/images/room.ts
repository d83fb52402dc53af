import { statfs } from 'node:fs/promises';
import { Failure } from '#src/failure/failure.ts';
import type { Size, Store, StoredImage } from './store.ts';

/** What all images may take of the disk, in bytes and in files. */
export type Room = {
  readonly limit: Size;
  /** Evicts until `more` fits next to what is there. Rejects if it does not. `own`: layers that are here and belong to the image. */
  make(more: Size, image: string, own?: ReadonlySet<number>): Promise<void>;
};

/** Images in use, and layers that pulls rely on: these are never evicted. */
export type Kept = { readonly images: ReadonlySet<string>; readonly layers: ReadonlySet<number> };

/** Half of what the disk has free, with what images take already. */
export async function defaultLimit(store: Store, bytes: number | null): Promise<Size> {
  const { bavail, bsize, ffree } = await statfs(store.folder);
  const used = store.size();
  // Some file systems have no number of files.
  const files = ffree === 0 ? Infinity : Math.floor((ffree + used.files) / 2);
  return { bytes: bytes ?? Math.floor((bavail * bsize + used.bytes) / 2), files };
}

export type RoomOptions = {
  readonly store: Store;
  readonly limit: Size;
  readonly keeps: () => Kept;
  readonly onEvicted: (image: StoredImage) => Promise<void>;
  readonly readDisk?: (folder: string) => Promise<Disk>;
};

/** Images with the same layers take no room, but memory of node: any number of names can stand for as many configurations. */
const mostImages = 10_000;

export function createRoom({ store, limit, keeps, onEvicted, readDisk = readDiskOf }: RoomOptions): Room {
  const fits = (more: Size, used: Size) =>
    used.bytes + more.bytes <= limit.bytes && used.files + more.files <= limit.files;
  const inUse = () => store.sizeOf(keeps().images, keeps().layers);
  return {
    limit,
    make: async (more, image, own = new Set()) => {
      if (isNearlyFull(await readDisk(store.folder))) throw diskFull(image, store.folder);
      if (!fits(more, store.sizeOf([], own))) throw tooLarge(image, limit);
      if (!fits(more, inUse())) throw noneNow(image, limit);
      while (!fits(more, store.size()) || store.count() > mostImages) {
        const evicted = await store.evict(keeps().images, keeps().layers);
        if (evicted === null) throw noneNow(image, limit);
        await onEvicted(evicted);
      }
    },
  };
}

/** In bytes. */
type Disk = { readonly free: number; readonly all: number };

async function readDiskOf(folder: string): Promise<Disk> {
  const { bavail, blocks, bsize } = await statfs(folder);
  return { free: bavail * bsize, all: blocks * bsize };
}

/**
 * The limit counts what images take by themselves. Other programs may have filled the disk since it was chosen, and a layer can copy files
 * of the layers below it by hard links, which its size does not tell before.
 */
const isNearlyFull = ({ free, all }: Disk) => free < Math.min(1024 ** 3, all / 20);

const sized = ({ bytes, files }: Size) => `${bytes} bytes and ${files} files`;

const diskFull = (image: string, folder: string) =>
  new Failure(
    'unschedulable',
    `there is no room for the image ${image}: the disk with ${folder} is nearly full; remove other files there, or lower CORRAL_IMAGE_BYTES`,
    { evidence: { image }, retryAfterMs: 1000 },
  );

const tooLarge = (image: string, limit: Size) =>
  new Failure(
    'start_failed',
    `the image ${image} is larger than all images of this machine may be together (${sized(limit)}): raise CORRAL_IMAGE_BYTES, or use a smaller one`,
    { evidence: { image } },
  );

const noneNow = (image: string, limit: Size) =>
  new Failure(
    'unschedulable',
    `there is no room for the image ${image}: images that sandboxes use take most of the ${sized(limit)} for images; it is fetched when they have ended`,
    { evidence: { image }, retryAfterMs: 1000 },
  );
