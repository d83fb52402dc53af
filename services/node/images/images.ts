import { join } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import type { Template } from '#src/model/environment.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import { parseImageConfig, type ImageConfig } from '../image/image-config.ts';
import type { IdRanges } from '../own-ids.ts';
import type { ConfinedSite } from './confined.ts';
import { pull, type PullTools } from './pull.ts';
import { sourceOf, type Wanted } from './reference.ts';
import { createRoom, defaultLimit } from './room.ts';
import { emptyName, lowerOf, openStore, type Store, type StoredImage } from './store.ts';
import { createTurns } from './turns.ts';
import { createViews, isMounted, type Views } from './views.ts';

/**
 * Images of registries and archives, each brought to this machine once and shared by its sandboxes.
 *
 *   pulling ── made ──▶ stored ── unused, and its room is needed ──▶ evicted
 *      └──── failed ──▶ failed ── asked for again some seconds later ──▶ pulling
 *
 * A sandbox is not accepted before its image is stored. Until then a create waits for a short time, and is then answered
 * `unschedulable` (ask again).
 */
export type Images = {
  /** The image of this template; null: its image is not pulled. Throws `image_unavailable`, `start_failed` and `unschedulable`. */
  hold(template: Template): Promise<HeldImage | null>;
  /** Ends what is pulled. */
  stop(): Promise<void>;
};

/** An image that stays while a sandbox has it. */
export type HeldImage = {
  /** Its files as a whole, as this node reads them. */
  readonly view: string;
  /** Folders of its layers, the uppermost first. */
  readonly layers: readonly string[];
  readonly config: ImageConfig;
  /** Whether `view` still has its files. Without them an image looks like one that has nothing. */
  isThere(): boolean;
  /** Users and groups that own some of its files. */
  readonly owners: readonly number[];
  release(): void;
};

export type ImagesOptions = {
  readonly folder: string;
  /** What all images may take of the disk; null: half of what it has free. */
  readonly bytes: number | null;
  readonly authFiles: readonly string[];
  readonly site: ConfinedSite;
  /** Null: sandboxes of this machine have no ids of their own, so files of an image could not be theirs. */
  readonly idRanges: IdRanges | null;
  /** Why this machine can use no image; null: it can. */
  readonly trouble: string | null;
  readonly clock: Clock;
  readonly log: Log;
};

/** Most images are here by then. A create that waits longer would keep others waiting: a client has few connections. */
const patienceMs = 1_000;
/** A whole burst asks for one image: its registry is not asked each time. */
const againAfterMs = 5_000;
const inspectsAtOnce = { ofOne: 4, ofAll: 8 };
const copiesAtOnce = { ofOne: 1, ofAll: 1 };
/** Pulls that run, wait, or have failed a moment ago. */
const mostPulls = 10_000;

type Pulling = {
  readonly startedAtMs: number;
  endedAtMs: number | null;
  failure: Failure | null;
  done: Promise<void>;
};

type Opened = {
  readonly store: Store;
  readonly views: Views;
  readonly tools: PullTools;
};

export function createImages(options: ImagesOptions): Images {
  const { clock, log } = options;
  const pulls = new Map<string, Pulling>();
  const holds = new Map<string, number>();
  const stopping = new AbortController();
  let opened: Promise<Opened> | null = null;

  const take = (id: string): (() => void) => {
    holds.set(id, (holds.get(id) ?? 0) + 1);
    let isHeld = true;
    return () => {
      const left = (holds.get(id) ?? 0) - (isHeld ? 1 : 0);
      isHeld = false;
      if (left > 0) holds.set(id, left);
      else holds.delete(id);
    };
  };

  const open = async (): Promise<Opened> => {
    const { trouble } = options;
    if (trouble !== null || options.idRanges === null) throw cannotUse(trouble ?? needsIds);
    const store = await openStore(options.folder, log);
    const views = createViews(options.folder);
    const onEvicted = async (id: string) => {
      log.info('image evicted', { id });
      await views.close(id);
    };
    const relied = new Set<number>();
    const keeps = () => ({ images: new Set(holds.keys()), layers: relied });
    const limit = await defaultLimit(store, options.bytes).catch(async (thrown: unknown) => {
      await store.close();
      throw thrown;
    });
    const room = createRoom(store, limit, keeps, onEvicted);
    const { site, authFiles, idRanges } = options;
    const lines = {
      inspecting: createTurns(inspectsAtOnce),
      copying: createTurns(copiesAtOnce),
    };
    return {
      store,
      views,
      tools: { store, room, site, clock, idRanges, authFiles, relied, hold: take, ...lines },
    };
  };

  const isOver = ({ endedAtMs }: Pulling) =>
    endedAtMs !== null && clock.monotonicMs() - endedAtMs > againAfterMs;

  const begin = (wanted: Wanted, { tools }: Opened): Pulling => {
    const { reference } = wanted;
    const source = sourceOf(wanted);
    for (const [key, old] of pulls) if (isOver(old)) pulls.delete(key);
    if (pulls.size >= mostPulls) throw tooMany(reference);
    const pulling: Pulling = {
      startedAtMs: clock.monotonicMs(),
      endedAtMs: null,
      failure: null,
      done: Promise.resolve(),
    };
    pulls.set(source.key, pulling);
    log.info('image is being pulled', { image: reference });
    pulling.done = pull(reference, source, tools, stopping.signal)
      .then((image) => {
        pulls.delete(source.key);
        log.info('image is here', { image: reference, id: image.id, layers: image.layers.length });
      })
      .catch((thrown: unknown) => {
        pulling.failure = asFailure(reference, thrown);
        log.warn('image could not be pulled', { image: reference, error: pulling.failure.message });
      })
      .finally(() => (pulling.endedAtMs = clock.monotonicMs()));
    return pulling;
  };

  const find = async (wanted: Wanted, all: Opened): Promise<StoredImage> => {
    const { reference } = wanted;
    const { key } = sourceOf(wanted);
    const found = all.store.findByKey(key);
    if (found !== null) return found;
    const known = pulls.get(key);
    const pulling = known === undefined || isOver(known) ? begin(wanted, all) : known;
    const answered = new AbortController();
    await Promise.race([pulling.done, clock.sleep(patienceMs, answered.signal)]);
    answered.abort();
    if (pulling.failure !== null) throw pulling.failure;
    return all.store.findByKey(key) ?? stillPulling(reference, clock.monotonicMs() - pulling.startedAtMs);
  };

  return {
    hold: async ({ image: { kind, ...rest } }) => {
      if (kind !== 'image' || !('reference' in rest)) return null;
      const all = await (opened ??= open().catch((thrown: unknown) => {
        opened = null;
        throw asFailure(rest.reference, thrown);
      }));
      const image = await find(rest, all);
      const release = take(image.id);
      try {
        return { ...(await use(image, all, clock.nowMs())), release };
      } catch (thrown) {
        release();
        throw asFailure(rest.reference, thrown);
      }
    },
    stop: async () => {
      stopping.abort('it was stopped with this node');
      await Promise.all([...pulls.values()].map(({ done }) => done));
      const all = await opened?.catch(() => null);
      await all?.views.stop();
      await all?.store.close();
    },
  };
}

/** So often is it written down when an image was used: an order of hours is enough. */
const usedEveryMs = 60_000;

async function use(
  image: StoredImage,
  { store, views }: Opened,
  nowMs: number,
): Promise<Omit<HeldImage, 'release'>> {
  // It is held by now; before that it may have been removed.
  if (store.findById(image.id) === null) throw new Error('it was removed to make room');
  if (nowMs - image.usedAtMs > usedEveryMs) await store.saveImage({ ...image, usedAtMs: nowMs });
  const lower = image.layers.toReversed().map(lowerOf);
  const view = await views.open(image.id, [...lower, emptyName]);
  return {
    view,
    isThere: () => isMounted(view),
    layers: lower.map((each) => join(store.folder, each)),
    config: parseImageConfig(image.config),
    owners: image.layers.flatMap((number) => store.layer(number)?.ids ?? []),
  };
}

function asFailure(image: string, thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new Failure('provider_unavailable', `the image ${image} could not be made ready: ${why}`, {
    evidence: { image },
    cause: thrown,
  });
}

const needsIds = 'node must be root and give each sandbox user ids of its own';

const cannotUse = (trouble: string) =>
  new Failure(
    'start_failed',
    `this machine cannot use images of registries: ${trouble}. Use rootfs:PATH, or run on a cluster`,
  );

const tooMany = (image: string) =>
  new Failure('unschedulable', `the image ${image} waits: ${mostPulls} images are being pulled`, {
    evidence: { image },
    retryAfterMs: 1_000,
  });

function stillPulling(image: string, ms: number): never {
  throw new Failure(
    'unschedulable',
    `the image ${image} is being pulled, ${Math.round(ms / 1000)} s so far`,
    { evidence: { image }, retryAfterMs: 1_000 },
  );
}
