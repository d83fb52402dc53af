import { join } from 'node:path';
import { Failure } from '#src/failure/failure.ts';
import type { Template } from '#src/model/environment.ts';
import type { Clock } from '#src/ports/clock.ts';
import type { Log } from '#src/ports/log.ts';
import { parseImageConfig, type ImageConfig } from '../image/image-config.ts';
import type { IdRanges } from '../own-ids.ts';
import type { ConfinedSite } from './confined.ts';
import { sha256 } from './manifest.ts';
import { pull, type PullTools } from './pull.ts';
import { asFailure, createPulls, soon } from './pulls.ts';
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
  /** Ends what is pulled, and begins nothing more. */
  stopPulling(): void;
  /** Once no sandbox uses an image any more: another node may remove them from then on. */
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

const inspectsAtOnce = { ofOne: 4, ofAll: 8 };
const copiesAtOnce = { ofOne: 1, ofAll: 1 };

type Opened = {
  readonly store: Store;
  readonly views: Views;
  readonly tools: PullTools;
};

export function createImages(options: ImagesOptions): Images {
  const { clock, log } = options;
  const pulls = createPulls({ clock, log });
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
    const onEvicted = async (image: StoredImage) => {
      log.info('image evicted', { id: image.id });
      await views.close(viewOf(image));
    };
    const relied = new Set<number>();
    const keeps = () => ({ images: new Set(holds.keys()), layers: relied });
    const limit = await defaultLimit(store, options.bytes).catch(async (thrown: unknown) => {
      await store.close();
      throw thrown;
    });
    const room = createRoom({ store, limit, keeps, onEvicted });
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

  const openSoon = async (reference: string): Promise<Opened> => {
    opened ??= open().catch((thrown: unknown) => {
      opened = null;
      throw asFailure(reference, thrown);
    });
    return (await soon(clock, opened)) ?? notOpenYet(reference);
  };

  const find = async (wanted: Wanted, { store, tools }: Opened): Promise<StoredImage> => {
    const { reference } = wanted;
    const source = sourceOf(wanted);
    const found = store.findByKey(source.key);
    if (found !== null) return found;
    const ranMs = await pulls.join(source.key, reference, (onTurn) =>
      pull({ reference, source, onTurn }, tools, stopping.signal),
    );
    return store.findByKey(source.key) ?? stillPulling(reference, ranMs);
  };

  const onUnwritten = (thrown: unknown) =>
    log.warn('the use of an image could not be written down', { error: String(thrown) });

  return {
    hold: async ({ image: { kind, ...rest } }) => {
      if (kind !== 'image' || !('reference' in rest)) return null;
      const all = await openSoon(rest.reference);
      const image = await find(rest, all);
      const release = take(image.id);
      try {
        return { ...(await use(image, all, { nowMs: clock.nowMs(), onUnwritten })), release };
      } catch (thrown) {
        release();
        throw asFailure(rest.reference, thrown);
      }
    },
    stopPulling: () => stopping.abort('it was stopped with this node'),
    stop: async () => {
      stopping.abort('it was stopped with this node');
      await pulls.ended();
      const all = await opened?.catch(() => null);
      await all?.views.stop();
      await all?.store.close();
    },
  };
}

/** An image that was evicted may be back, with other layers, before the view of the old ones is closed. */
const viewOf = ({ id, layers }: StoredImage) => sha256(`${id} ${layers.join(' ')}`);

/** So often is it written down when an image was used: an order of hours is enough. */
const usedEveryMs = 60_000;

async function use(
  image: StoredImage,
  { store, views }: Opened,
  { nowMs, onUnwritten }: { readonly nowMs: number; readonly onUnwritten: (thrown: unknown) => void },
): Promise<Omit<HeldImage, 'release'>> {
  // It is held by now; before that it may have been removed.
  if (store.findById(image.id) === null) throw new Error('it was removed to make room');
  if (nowMs - image.usedAtMs > usedEveryMs)
    // On a full disk it only looks older than it is.
    await store.saveImage({ ...image, usedAtMs: nowMs }).catch(onUnwritten);
  const lower = image.layers.toReversed().map(lowerOf);
  const view = await views.open(viewOf(image), [...lower, emptyName]);
  return {
    view,
    isThere: () => isMounted(view),
    layers: lower.map((each) => join(store.folder, each)),
    config: parseImageConfig(image.config),
    owners: image.layers.flatMap((number) => store.layer(number)?.ids ?? []),
  };
}

const needsIds = 'node must be root and give each sandbox user ids of its own';

const cannotUse = (trouble: string) =>
  new Failure(
    'start_failed',
    `this machine cannot use images of registries: ${trouble}. Use rootfs:PATH, or run on a cluster`,
  );

/** After a crash the store removes what pulls have left, which takes its time. */
function notOpenYet(image: string): never {
  throw new Failure('unschedulable', `the image ${image} waits: the images of this machine are being read`, {
    evidence: { image },
    retryAfterMs: 1_000,
  });
}

function stillPulling(image: string, ms: number): never {
  throw new Failure(
    'unschedulable',
    `the image ${image} is being pulled, ${Math.round(ms / 1000)} s so far`,
    { evidence: { image }, retryAfterMs: 1_000 },
  );
}
