import { existsSync } from 'node:fs';
import { keptFolder, type KeptLine, keptLines, readKept } from '#src/adapters/event-log/kept-log.ts';
import { openObjectStore } from '#src/adapters/object-store/open-store.ts';
import { readTrajectories } from '#src/adapters/trajectories/read-trajectories.ts';
import { type RolloutId, type RunId, runId, type TenantId, tenantId } from '#src/model/ids.ts';
import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { ObjectStore } from '#src/ports/object-store.ts';
import { CommandError } from '../command-error.ts';
import { defaultStateFolder, stateFolderAt } from '../fleet/state-folder.ts';
import { type OfRun, ofOneTenant } from './one-tenant.ts';

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
  lines(wanted: KeptWanted, onUnreadable: OnUnreadable): AsyncIterable<string>;
};

export type KeptWanted = {
  /** Null: every tenant that has a run of this name. */
  readonly tenant: TenantId | null;
  readonly run: RunId;
  /** Null: all of the run. */
  readonly rollout: RolloutId | null;
  /** Of all of a run: call texts that lie in a folder of their own, too. Those of one rollout always come. */
  readonly withTexts?: boolean;
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
    lines: ({ rollout, withTexts = false }) => keptLines(folder, withTexts || rollout !== null),
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

/** Graded rollouts of a run, one at a time: with their artifacts all of a run may be more than memory holds. */
export async function* keptOf(
  { run, tenant }: OfRun,
  source: KeptSource,
  onUnreadable: OnUnreadable,
  isWanted: (kept: KeptLine) => boolean = () => true,
): AsyncGenerator<KeptLine> {
  const isOfRun = ofOneTenant({ run, tenant });
  const wanted = {
    tenant: tenant === undefined ? null : tenantId(tenant),
    run: runId(run),
    rollout: null,
  };
  for await (const kept of readKept(source.lines(wanted, onUnreadable)))
    if (isOfRun(kept.key) && isWanted(kept)) yield kept;
}

function inStore(store: ObjectStore): KeptSource {
  const isFolder = !store.place.startsWith('s3://');
  return {
    place: store.place,
    isThere: !isFolder || existsSync(store.place),
    lines: ({ tenant, run, rollout }, onUnreadable) => {
      const isWanted = (key: string) => rollout === null || isOf(key, rollout);
      const wanted = { tenant, run, isWanted, fewRollouts: rollout !== null };
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
