import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Connection } from '../gateway/connection.ts';

/*
 * Where the index of a run's events is kept between two commands. Each key has indexes of its own, so that what one key may read,
 * another tenant's or one without the scope `truth`, is never shown to another.
 */

const dayMs = 24 * 60 * 60 * 1000;
/** As long as an event log keeps its files. */
const keepDays = 14;

export type IndexPlace = {
  /** A state folder, if there is one: an index goes with the fleet whose run it is of. */
  readonly state: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
};

/** Null where nothing can be kept: the index is then for one command alone. Removes indexes that no command has used for long. */
export function indexFileOf(
  { url, key }: Connection,
  run: string,
  place: IndexPlace,
  nowMs: number,
): string | null {
  const folder = folderOf(place);
  if (folder === null) return null;
  const name = createHash('sha256')
    .update(JSON.stringify([url, key, run]))
    .digest('hex')
    .slice(0, 32);
  const path = join(folder, `${name}.sqlite`);
  if (existsSync(path)) utimesSync(path, nowMs / 1000, nowMs / 1000);
  removeUnused(folder, nowMs);
  return path;
}

function folderOf({ state, variables }: IndexPlace): string | null {
  const caches = variables['XDG_CACHE_HOME'] || join(homedir(), '.cache');
  const folder = join(existsSync(state) ? state : join(caches, 'corral'), 'runs');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
    return folder;
  } catch {
    return null;
  }
}

function removeUnused(folder: string, nowMs: number): void {
  const indexes = readdirSync(folder).filter((name) => name.endsWith('.sqlite'));
  for (const name of indexes) {
    const path = join(folder, name);
    const used = statSync(path, { throwIfNoEntry: false });
    if (used === undefined || used.mtimeMs > nowMs - keepDays * dayMs) continue;
    for (const end of ['', '-journal']) rmSync(path + end, { force: true });
  }
}
