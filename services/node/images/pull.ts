import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import type { Clock } from '#src/ports/clock.ts';
import { writeToDisk } from '../disk.ts';
import { ownGroups } from '../cgroups/groups.ts';
import { type ImageConfig, parseImageConfig } from '../image/image-config.ts';
import type { IdRanges } from '../own-ids.ts';
import { bounded, type Bounds, diskBytes, leastOfRegistry } from './bounded.ts';
import type { ConfinedSite } from './confined.ts';
import { createReader, type Reader } from './fetch.ts';
import { type Blob, chainIds, diffIdsOf, readLayout, sha256 } from './manifest.ts';
import { isOfMachine } from './machine-trouble.ts';
import type { Source } from './reference.ts';
import { makeLayer, type Made } from './make-layer.ts';
import type { Room } from './room.ts';
import type { Store, StoredImage } from './store.ts';
import type { Turns } from './turns.ts';

/**
 * Brings one image into the store.
 *
 *   inspect   several at once: its configuration is read, so an image that is not available is named within seconds
 *   copy      one image at a time, in the order in which they were asked for, so that two of them that fit alone never take each
 *             other's room: the layers that the store lacks are fetched
 *   unpack    each of them, above those below it
 *   keep      all of them on the disk, then the image
 */
export type PullTools = {
  readonly store: Store;
  readonly room: Room;
  readonly site: ConfinedSite;
  readonly clock: Clock;
  readonly idRanges: IdRanges;
  readonly authFiles: readonly string[];
  readonly inspecting: Turns;
  readonly copying: Turns;
  /** Keeps an image, and returns how to let it go. */
  readonly hold: (id: string) => () => void;
  /** Layers that must stay for the pull that is under way. */
  readonly relied: Set<number>;
};

type Job = PullTools &
  PullOrder & {
    readonly number: number;
    /** Of the pull, below the store. */
    readonly folder: string;
    readonly signal: AbortSignal;
    readonly reader: Reader;
  };

type Described = { readonly config: string; readonly id: string; readonly diffIds: readonly string[] };

/** `onTurn`: its turn to copy has come. */
export type PullOrder = {
  readonly reference: string;
  readonly source: Source;
  readonly onTurn: () => void;
};

export async function pull(order: PullOrder, tools: PullTools, signal: AbortSignal): Promise<StoredImage> {
  const { reference, source } = order;
  const { store, site, idRanges, authFiles } = tools;
  const number = store.nextNumber();
  const folder = join('pulls', String(number));
  const path = join(store.folder, folder);
  await mkdir(path, { mode: 0o700 });
  const reading = {
    reference,
    source,
    folder: path,
    name: `${ownGroups.image}${number}`,
    authFiles,
    idRanges,
    site,
  };
  const job: Job = { ...tools, ...order, number, folder, signal, reader: createReader(reading) };
  try {
    const config = await tools.inspecting(source.registry, signal, () =>
      bounded(boundsOf(job, noLayers), (bound) => job.reader.inspect(bound)),
    );
    const described = describe(job, config);
    return await named(job, described);
  } finally {
    await store.discard(path);
  }
}

/** Held from before it is looked for until it has its name: another pull could make room by removing it. */
async function named(job: Job, described: Described): Promise<StoredImage> {
  const { store, source, copying, signal } = job;
  const release = job.hold(described.id);
  try {
    const image =
      store.findById(described.id) ??
      (await copying(source.registry, signal, () => bringInTime(job, described)));
    await store.saveImage({ ...image, keys: [source.key] });
    return image;
  } finally {
    release();
  }
}

/** It keeps others waiting, and a layer of its author's can take any time to unpack. */
const longestTurnMs = 60 * 60_000;

async function bringInTime(job: Job, described: Described): Promise<StoredImage> {
  job.onTurn();
  const late = new AbortController();
  const timer = setTimeout(
    () => late.abort(`it was not done within ${longestTurnMs / 60_000} min`),
    longestTurnMs,
  );
  try {
    return await bring({ ...job, signal: AbortSignal.any([job.signal, late.signal]) }, described);
  } finally {
    clearTimeout(timer);
  }
}

function describe({ reference, source }: Job, config: string): Described {
  return orUnusable(reference, () => {
    return {
      config: keptConfig(parseImageConfig(config)),
      id: sha256(`${source.scope} ${config}`),
      diffIds: diffIdsOf(config),
    };
  });
}

/** What sandboxes need of it. The rest may have megabytes, and the configurations of all images stay in memory. */
const keptConfig = ({ env, workdir, user }: ImageConfig): string => {
  const Env = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return JSON.stringify({ config: { Env, WorkingDir: workdir ?? '', User: user } });
};

function orUnusable<Result>(reference: string, read: () => Result): Result {
  try {
    return read();
  } catch (thrown) {
    throw unusable(reference, thrown);
  }
}

function unusable(image: string, thrown: unknown): Failure {
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new Failure('start_failed', `the image ${image} cannot be used: ${why}`, { evidence: { image } });
}

async function bring(job: Job, described: Described): Promise<StoredImage> {
  const { store, relied } = job;
  const already = store.findById(described.id);
  if (already !== null) return already;
  const chains = chainIds(described.diffIds, job.source.scope);
  for (const chain of chains) {
    const number = store.layerOf(chain);
    if (number !== null) relied.add(number);
  }
  try {
    return await keep(job, described, chains);
  } finally {
    // The only pull in this part.
    relied.clear();
  }
}

async function keep(job: Job, described: Described, chains: readonly string[]): Promise<StoredImage> {
  const { store, clock, relied } = job;
  const isComplete = chains.every((chain) => store.layerOf(chain) !== null);
  const made = isComplete ? [] : await makeLayers(job, described, chains);
  // Before the image is believed to be there.
  await writeToDisk(store.folder);
  for (const { number, from, layer } of made) {
    relied.add(number);
    await store.addLayer(number, from, layer);
  }
  // Also for an image without a layer of its own, by which there is one more.
  await job.room.make({ bytes: 0, files: 0 }, job.reference, relied);
  const layers = chains.map((chain) => store.layerOf(chain) ?? 0);
  const image = { id: described.id, layers, config: described.config, keys: [], usedAtMs: clock.nowMs() };
  await store.saveImage(image);
  return image;
}

async function makeLayers(
  job: Job,
  { diffIds }: Described,
  chains: readonly string[],
): Promise<readonly Made[]> {
  const { store, reference } = job;
  const missing = chains.flatMap((chain, index) => (store.layerOf(chain) === null ? [index] : []));
  const { layout, blobs } = await copy(job, missing);
  const found = await layoutOf(job, layout);
  // A name that means another image by now. skopeo may write the same configuration in other words.
  const fetched = orUnusable(reference, () => diffIdsOf(found.config));
  if (fetched.join() !== diffIds.join() || blobs.length !== diffIds.length)
    throw new Failure('provider_unavailable', `the image ${reference} changed while it was fetched`, {
      retryAfterMs: 1000,
    });
  const made: Made[] = [];
  for (const index of missing)
    made.push(await makeLayer(job, { index, diffIds, chains, blobs, layout, made }));
  return made;
}

/** A file that this machine cannot read says nothing of the image. */
const layoutOf = ({ reference }: Job, layout: string) =>
  readLayout(layout).catch((thrown: unknown) => {
    throw isOfMachine(thrown) ? thrown : unusable(reference, thrown);
  });

/** Again without the empty files of known layers if one of these is needed: it is also in this image, above other layers. */
async function copy(job: Job, missing: readonly number[]) {
  const fetch = async (known: readonly Blob[]) => {
    const layout = await bounded(boundsOf(job, job.relied), (signal) => job.reader.copy(known, signal));
    const { blobs } = await layoutOf(job, layout);
    return { layout, blobs };
  };
  const known = [...job.relied].flatMap((number) => job.store.layer(number)?.blob ?? []);
  const names = new Set(known.map(({ digest }) => digest));
  const first = await fetch(known);
  return missing.some((index) => names.has(first.blobs[index]?.digest ?? '')) ? fetch([]) : first;
}

/** Before it is known which layers an image has: those of a pull that copies meanwhile are not its own. */
const noLayers: ReadonlySet<number> = new Set();

const boundsOf = (
  { clock, room, store, folder, reference, source, signal }: Job,
  own: ReadonlySet<number>,
): Bounds => ({
  clock,
  room,
  measure: () => diskBytes(join(store.folder, folder)),
  own,
  image: reference,
  // An archive is read as a whole before anything is written.
  leastBytes: source.registry === null ? 0 : leastOfRegistry,
  signal,
});
