import type { RunId, TenantId } from '#src/model/ids.ts';
import type { ObjectStore } from '#src/ports/object-store.ts';
import { readIndex, unpackLines } from './segment.ts';
import { indexOf, runFolderIn, segmentEnd, tenantFolder } from './segment-names.ts';

/** Which trajectories: of a run, or one rollout of it. */
export type WantedTrajectories = {
  /** Null: every tenant that has a run of this name. */
  readonly tenant: TenantId | null;
  readonly run: RunId;
  readonly isWanted: (key: string) => boolean;
  /** Read members of the index alone; otherwise segments whole, in as many requests as there are segments. */
  readonly fewRollouts: boolean;
};

/** Hears of each object that cannot be read: what was in it is missing. */
export type OnUnreadable = (name: string, why: string) => void;

/** Lines as they were kept, in the order of their segments; the caller looks at whose each is. */
export async function* readTrajectories(
  store: ObjectStore,
  wanted: WantedTrajectories,
  onUnreadable: OnUnreadable,
): AsyncGenerator<string> {
  const tenants = wanted.tenant === null ? await store.folders('') : [tenantFolder(wanted.tenant)];
  for (const tenant of tenants) {
    const folder = runFolderIn(tenant, wanted.run);
    const names = new Set<string>();
    for await (const { name } of store.list(folder)) names.add(name);
    for (const name of names) {
      if (!name.endsWith(segmentEnd)) continue;
      // A writer that died between the two left a segment without its index: it is read whole.
      const hasIndex = names.has(indexOf(name));
      try {
        yield* wanted.fewRollouts && hasIndex
          ? await membersOf(store, name, wanted)
          : await whole(store, name);
      } catch (error) {
        onUnreadable(`${store.place}/${name}`, error instanceof Error ? error.message : String(error));
      }
    }
  }
}

async function whole(store: ObjectStore, name: string): Promise<readonly string[]> {
  const bytes = await store.get(name);
  if (bytes === null) throw new Error('it was removed meanwhile');
  return unpackLines(bytes);
}

async function membersOf(
  store: ObjectStore,
  name: string,
  { isWanted }: WantedTrajectories,
): Promise<readonly string[]> {
  const index = await store.get(indexOf(name));
  if (index === null) throw new Error('its index was removed meanwhile');
  const lines: string[] = [];
  for (const { key, at, bytes } of readIndex(index)) {
    if (!isWanted(key)) continue;
    const member = await store.get(name, { fromByte: at, bytes });
    if (member === null) throw new Error('it was removed meanwhile');
    lines.push(...(await unpackLines(member)));
  }
  return lines;
}
