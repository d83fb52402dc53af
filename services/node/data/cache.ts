import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import {
  chmod,
  chown,
  lchown,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { treeDigest } from '#src/environments/tree-digest.ts';
import type { DataDigest } from '#src/model/ids.ts';
import { lockFile, removeTree, writeToDisk } from '../disk.ts';

/**
 * Results of builds in a folder, each under its digest. Any number of processes may share the folder:
 *
 *   locks/KEY      held (by the kernel, so that a crash gives it back) by who builds
 *   building/KEY   what is being made; believed by nobody, and removed by the next who holds the lock
 *   made/KEY       renamed into place whole, with what it must hold beside it; its time of change says when it was last used
 *
 * A machine that loses power may lose a renamed folder's contents, so what is found is held against its digest before
 * its first use, and made again where it is not what was published.
 */
export type DataCache = {
  /** Where the result is, or null where there is none that may be believed. */
  find(digest: DataDigest): Promise<Found | null>;
  /** The lock of one digest; resolves when nobody else has it. */
  lock(digest: DataDigest, signal: AbortSignal): Promise<() => Promise<void>>;
  /** An empty folder to build in, for who has the lock. `owner`: of the program that writes there; null: us. */
  begin(digest: DataDigest, owner: number | null): Promise<string>;
  /** Publishes what was built. Throws {@link UnfitData}. */
  publish(digest: DataDigest, seconds: number): Promise<Found>;
  /** Removes what was begun and came to nothing. */
  abandon(digest: DataDigest): Promise<void>;
  touch(digest: DataDigest): Promise<void>;
  /** Removes what nobody has used for so long, but for those that `keeps` names. Returns how many. */
  collect(olderThanMs: number, keeps: ReadonlySet<DataDigest>, nowMs: number): Promise<number>;
};

export type Found = { readonly folder: string; readonly bytes: number };

/** What a program left that cannot be data; the end of a sentence. */
export class UnfitData extends Error {}

const Made = Type.Object({ digest: Type.String(), bytes: Type.Number(), seconds: Type.Number() });

/**
 * The same command and inputs may leave other bytes under another Node, so each machine keeps them apart by it. Of its other
 * programs it knows nothing: who upgrades a Python that a build relies on empties the folder.
 */
const machine = `${process.version} ${process.arch}`;

const keyOf = (digest: DataDigest): string =>
  createHash('sha256').update(`${digest} ${machine}`).digest('hex').slice(0, 40);

const contentName = 'content';
const recordName = 'made.json';

export function createDataCache(folder: string, isRoot: boolean): DataCache {
  const at = (place: 'locks' | 'building' | 'made', digest: DataDigest) => join(folder, place, keyOf(digest));
  return {
    find: async (digest) => {
      const made = await readMade(at('made', digest));
      if (made === null) return null;
      const content = join(at('made', digest), contentName);
      const tree = treeDigest(content);
      return 'digest' in tree && tree.digest === made.digest ? { folder: content, bytes: made.bytes } : null;
    },
    lock: async (digest, signal) => {
      await mkdir(join(folder, 'locks'), { recursive: true, mode: 0o700 });
      return lockFile(at('locks', digest), signal);
    },
    begin: async (digest, owner) => {
      const building = at('building', digest);
      await removeTree(building);
      const content = join(building, contentName);
      await mkdir(content, { recursive: true, mode: 0o755 });
      if (owner !== null) await chown(content, owner, owner);
      return content;
    },
    publish: async (digest, seconds) => {
      const building = at('building', digest);
      const content = join(building, contentName);
      const bytes = await makeReadable(content, isRoot);
      const tree = treeDigest(content);
      if ('trouble' in tree) throw new UnfitData(`left something, ${tree.trouble}`);
      if (bytes === 0) throw new UnfitData('left nothing in the folder that CORRAL_DATA names');
      const record: Static<typeof Made> = { digest: tree.digest, bytes, seconds };
      await writeFile(join(building, recordName), JSON.stringify(record));
      await writeToDisk(building);
      const made = at('made', digest);
      await mkdir(join(folder, 'made'), { recursive: true });
      // What stands there was not believed.
      await removeTree(made);
      await rename(building, made);
      return { folder: join(made, contentName), bytes };
    },
    abandon: (digest) => removeTree(at('building', digest)),
    touch: (digest) => {
      const now = new Date();
      // Somebody may have emptied the folder; the next start finds that out.
      return utimes(at('made', digest), now, now).catch(() => undefined);
    },
    collect: async (olderThanMs, keeps, nowMs) => {
      const kept = new Set([...keeps].map(keyOf));
      let removed = 0;
      for (const place of ['made', 'building'] as const) {
        for (const key of await readdir(join(folder, place)).catch(() => [])) {
          const path = join(folder, place, key);
          const found = await stat(path).catch(() => null);
          if (kept.has(key) || found === null || nowMs - found.mtimeMs < olderThanMs) continue;
          // Out of sight at once: who looks meanwhile finds all of it or nothing.
          const gone = join(folder, `gone-${key}`);
          await rename(path, gone);
          await removeTree(gone);
          removed += 1;
        }
      }
      return removed;
    },
  };
}

async function readMade(made: string): Promise<Static<typeof Made> | null> {
  const text = await readFile(join(made, recordName), 'utf8').catch(() => '');
  try {
    const value: unknown = JSON.parse(text);
    return Value.Check(Made, value) ? value : null;
  } catch {
    return null;
  }
}

/** Bytes of all files so far; what goes away meanwhile counts nothing. */
export async function bytesBelow(folder: string): Promise<number> {
  const found = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  let bytes = 0;
  for (const entry of found) {
    if (entry.isFile())
      bytes += lstatSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
  }
  return bytes;
}

/** Ours, open to every sandbox's users and writable by none, whatever the program set. Returns the bytes. */
async function makeReadable(content: string, isRoot: boolean): Promise<number> {
  let bytes = 0;
  const found = await readdir(content, { withFileTypes: true, recursive: true });
  const paths = found.map((entry) => join(entry.parentPath, entry.name));
  for (const path of [content, ...paths]) {
    const stats = await lstat(path);
    if (isRoot) await lchown(path, 0, 0);
    if (stats.isSymbolicLink()) continue;
    const isRun = stats.isDirectory() || (stats.mode & 0o111) !== 0;
    if (stats.isDirectory() || stats.isFile()) await chmod(path, isRun ? 0o755 : 0o644);
    if (stats.isFile()) bytes += stats.size;
  }
  return bytes;
}
