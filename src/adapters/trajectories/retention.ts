import type { ObjectStore, StoredObject } from '#src/ports/object-store.ts';
import { parseName } from './segment-names.ts';

export type Retention = {
  readonly keepDays: number;
  /** Of all trajectories together; null: no limit but the days. */
  readonly maxBytes: number | null;
};

export type Removed = { readonly objects: number; readonly bytes: number };

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/**
 * Removes what is older than the days, and then whole runs until the rest has room, the one first that was written to least recently. Of a
 * run that is being written, it removes only as much as it must. There may be a million objects, so only runs are in memory.
 */
export async function removeOld(
  store: ObjectStore,
  { keepDays, maxBytes }: Retention,
  nowMs: number,
): Promise<Removed> {
  const oldest = new Date(nowMs - keepDays * dayMs).toISOString().slice(0, 10);
  const removed = { objects: 0, bytes: 0 };
  const runs: Runs = new Map();
  const remove = async (object: StoredObject) => {
    await store.remove(object.name);
    removed.objects += 1;
    removed.bytes += object.bytes;
  };
  for await (const object of store.list('')) {
    const parsed = parseName(object.name);
    if (parsed === null) continue;
    if (parsed.day < oldest) await remove(object);
    else if (maxBytes !== null) note(runs, parsed.run, object);
  }
  let bytes = [...runs.values()].reduce((sum, run) => sum + run.bytes, 0);
  for (const [name, run] of [...runs].toSorted(([, a], [, b]) => a.writtenAtMs - b.writtenAtMs)) {
    if (maxBytes === null || bytes <= maxBytes) break;
    const isBeingWritten = nowMs - run.writtenAtMs < hourMs;
    for await (const object of store.list(`${name}/`)) {
      if (isBeingWritten && bytes <= maxBytes) break;
      if (parseName(object.name) === null) continue;
      await remove(object);
      bytes -= object.bytes;
    }
  }
  return removed;
}

type Runs = Map<string, { bytes: number; writtenAtMs: number }>;

function note(runs: Runs, run: string, object: StoredObject): void {
  const known = runs.get(run) ?? { bytes: 0, writtenAtMs: 0 };
  runs.set(run, known);
  known.bytes += object.bytes;
  known.writtenAtMs = Math.max(known.writtenAtMs, object.writtenAtMs);
}
