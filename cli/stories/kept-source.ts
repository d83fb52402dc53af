import { existsSync } from 'node:fs';
import { keptFolder, type KeptLine, keptLines, readKept } from '#src/adapters/event-log/kept-log.ts';
import { openObjectStore } from '#src/adapters/object-store/open-store.ts';
import { readTrajectories } from '#src/adapters/trajectories/read-trajectories.ts';
import { type RolloutId, type RunId, runId } from '#src/model/ids.ts';
import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { ObjectStore } from '#src/ports/object-store.ts';
import { CommandError } from '../command-error.ts';
import { defaultStateFolder, stateFolderAt } from '../fleet/state-folder.ts';

export type KeptOptions = {
  /** A folder of kept rollouts, as a gateway writes it below its event log. */
  readonly kept?: string | undefined;
  /** A trajectory store. */
  readonly store?: string | undefined;
  readonly state?: string | undefined;
};

/** Kept rollouts and call texts, wherever they are. */
export type KeptSource = {
  /** For people. */
  readonly place: string;
  /** False: there is no such folder. */
  readonly isThere: boolean;
  /** Lines of a run, or of one rollout of it, and maybe of others. What cannot be read is handed to `onUnreadable`. */
  lines(run: RunId, rollout: RolloutId | null, onUnreadable: OnUnreadable): AsyncIterable<string>;
};

export type OnUnreadable = (name: string, why: string) => void;

/** The folder or the store that is named, else the store of CORRAL_TRAJECTORIES, else the folder of the fleet on this machine. */
export function openKept(
  { kept, store, state = defaultStateFolder }: KeptOptions,
  variables: Readonly<Record<string, string | undefined>>,
): KeptSource {
  if (kept !== undefined && store !== undefined)
    throw new CommandError('--kept and --store name different sources', 'yours', 'give one of them');
  const place = kept === undefined ? store || variables['CORRAL_TRAJECTORIES'] : undefined;
  if (place) return inStore(opened(place, variables));
  const folder = kept ?? keptFolder(stateFolderAt(state).events);
  return {
    place: folder,
    isThere: existsSync(folder),
    lines: (_run, rollout) => keptLines(folder, rollout !== null),
  };
}

function opened(place: string, variables: Readonly<Record<string, string | undefined>>): ObjectStore {
  try {
    return openObjectStore(place, variables);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError(
      `the trajectory store cannot be opened: ${reason}`,
      'yours',
      'give a folder or s3://bucket/prefix, with AWS_REGION and credentials in the environment',
      cause,
    );
  }
}

/** A run by its name, and whose: undefined if one tenant alone has a run of this name. */
export type OfRun = { readonly run: string; readonly tenant: string | undefined };

/** Graded rollouts of a run, one at a time: with their artifacts all of a run may be more than memory holds. */
export async function* keptOf(
  { run, tenant }: OfRun,
  source: KeptSource,
  onUnreadable: OnUnreadable,
  isWanted: (kept: KeptLine) => boolean = () => true,
): AsyncGenerator<KeptLine> {
  let only = tenant;
  for await (const kept of readKept(source.lines(runId(run), null, onUnreadable))) {
    const owner = ownerOf(kept.key);
    if (owner.run !== run || (tenant !== undefined && owner.tenant !== tenant)) continue;
    only ??= owner.tenant;
    if (owner.tenant !== only) throw severalTenants(run, [only, owner.tenant]);
    if (isWanted(kept)) yield kept;
  }
}

const severalTenants = (run: string, tenants: readonly string[]) =>
  new CommandError(
    `tenants ${tenants.join(' and ')} each have a run ${run}: one mean over both says nothing`,
    'yours',
    'name one with --tenant',
  );

function inStore(store: ObjectStore): KeptSource {
  const isFolder = !store.place.startsWith('s3://');
  return {
    place: store.place,
    isThere: !isFolder || existsSync(store.place),
    lines: (run, rollout, onUnreadable) => {
      const isWanted = (key: string) => rollout === null || isOf(key, rollout);
      const wanted = { run, isWanted, fewRollouts: rollout !== null };
      return listable(store.place, readTrajectories(store, wanted, onUnreadable));
    },
  };
}

/** A store that cannot be listed is a mistake of its settings, or it is away. */
async function* listable(place: string, lines: AsyncIterable<string>): AsyncGenerator<string> {
  try {
    yield* lines;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const next = 'check its address, AWS_REGION, the credentials and the network, then try again';
    throw new CommandError(`the trajectory store ${place} cannot be read: ${reason}`, 'yours', next, cause);
  }
}

function isOf(key: string, rollout: RolloutId): boolean {
  try {
    return ownerOf(key as RolloutKey).rollout === rollout;
  } catch {
    return false;
  }
}
