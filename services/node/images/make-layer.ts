import { join } from 'node:path';
import { ownGroups } from '../cgroups/groups.ts';
import type { Clock } from '#src/ports/clock.ts';
import { bounded, diskBytes } from './bounded.ts';
import type { ConfinedSite } from './confined.ts';
import type { Blob } from './manifest.ts';
import type { Room } from './room.ts';
import { emptyName, type Layer, lowerOf, type Store, sum, treeName } from './store.ts';
import { type LayerJob, type Unpacked, unpackLayer } from './unpack.ts';

/** An unpacked layer that is not in the store yet: its number there, and its folder. */
export type Made = {
  readonly number: number;
  readonly from: string;
  readonly layer: Layer;
};

/** Of the pull that it belongs to. */
type LayerTools = {
  readonly store: Store;
  readonly room: Room;
  readonly clock: Clock;
  readonly site: ConfinedSite;
  readonly reference: string;
  /** Of the pull, below the store. */
  readonly folder: string;
  readonly relied: ReadonlySet<number>;
  readonly signal: AbortSignal;
};

type LayerParts = {
  readonly index: number;
  readonly diffIds: readonly string[];
  readonly chains: readonly string[];
  readonly blobs: readonly Blob[];
  readonly layout: string;
  /** Of this pull, below it. */
  readonly made: readonly Made[];
};

/** Unpacks one layer above those below it, into the folder of the pull. */
export async function makeLayer(tools: LayerTools, parts: LayerParts): Promise<Made> {
  const { store, room, folder, reference, relied } = tools;
  const { index, diffIds, chains, blobs, layout, made } = parts;
  const number = store.nextNumber();
  const own = join(folder, String(number));
  const blob = blobs[index] ?? { digest: '', size: 0 };
  const sizeOfMade = sum(made.map(({ layer }) => layer));
  const fetched = { bytes: await diskBytes(layout), files: 0 };
  const makeRoom = (bytes: number, files: number) =>
    room.make(sum([sizeOfMade, fetched, { bytes: bytes * 2, files }]), reference, relied);
  const unpacked = await unpackInRoom(tools, {
    image: reference,
    name: `${ownGroups.image}${number}`,
    blob: join(layout, 'blobs/sha256', blob.digest),
    diffId: diffIds[index] ?? '',
    overlay: {
      below: store.folder,
      lower: [...lowerLayers(store, chains.slice(0, index), made), emptyName],
      upper: join(own, treeName),
      work: join(folder, `work-${number}`),
      at: join(folder, `merged-${number}`),
    },
    scratch: join(folder, `scratch-${number}`),
    mostBytes: room.limit.bytes,
    makeRoom,
  });
  await store.discard(join(store.folder, folder, `scratch-${number}`));
  const layer = { chain: chains[index] ?? '', blob, ...unpacked, ids: [...unpacked.ids] };
  // A hard link to a file of a layer below copies it, which no listing tells.
  await room.make(sum([sizeOfMade, fetched, layer]), reference, relied);
  return { number, from: join(store.folder, own), layer };
}

const nothing = () => Promise.resolve(0);

/** What it writes is known before, but for hard links: so the disk is looked at meanwhile, and its size is counted only when it is done. */
function unpackInRoom(
  { clock, room, relied, reference, site, signal }: LayerTools,
  job: Omit<LayerJob, 'signal'>,
): Promise<Unpacked> {
  const bounds = { clock, room, measure: nothing, own: relied, image: reference, leastBytes: 0, signal };
  return bounded(bounds, (bound) => unpackLayer({ ...job, signal: bound }, site));
}

/** The layers below, the uppermost first. */
function lowerLayers(store: Store, chains: readonly string[], made: readonly Made[]): readonly string[] {
  return chains.toReversed().map((chain) => {
    const own = made.find(({ layer }) => layer.chain === chain);
    if (own !== undefined) return join(own.from.slice(store.folder.length + 1), treeName);
    return lowerOf(store.layerOf(chain) ?? 0);
  });
}
