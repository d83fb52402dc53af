import { statfs } from 'node:fs/promises';
import { Failure } from '#src/failure/failure.ts';
import type { Size, Store } from './store.ts';

/** What all images may take of the disk, in bytes and in files. */
export type Room = {
  /** What one pull may take at most, now: all but what is in use. */
  most(): Size;
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

export function createRoom(
  store: Store,
  limit: Size,
  keeps: () => Kept,
  onEvicted: (id: string) => Promise<void>,
): Room {
  const fits = (more: Size, used: Size) =>
    used.bytes + more.bytes <= limit.bytes && used.files + more.files <= limit.files;
  const inUse = () => store.sizeOf(keeps().images, keeps().layers);
  return {
    most: () => {
      const { bytes, files } = inUse();
      return { bytes: Math.max(0, limit.bytes - bytes), files: Math.max(0, limit.files - files) };
    },
    make: async (more, image, own = new Set()) => {
      if (!fits(more, store.sizeOf([], own))) throw tooLarge(image, limit);
      if (!fits(more, inUse())) throw noneNow(image, limit);
      while (!fits(more, store.size())) {
        const evicted = await store.evict(keeps().images, keeps().layers);
        if (evicted === null) throw noneNow(image, limit);
        await onEvicted(evicted);
      }
    },
  };
}

const sized = ({ bytes, files }: Size) => `${bytes} bytes and ${files} files`;

export const tooLarge = (image: string, limit: Size) =>
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
