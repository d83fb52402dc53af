import { chmodSync, chownSync, lstatSync, mkdirSync, type Stats, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { readRegular } from '../read-regular.ts';
import { unplaceable } from './root-layout.ts';
import { ownerInside, type ImageUser } from './shifted-ids.ts';

/*
 * The layer between an image and what a sandbox writes: folders and files that every sandbox has, whatever its image has. The
 * uppermost layer that has a folder decides on its owner and mode, so a folder of the image that is made here again looks as it does
 * there, and has the same content.
 */

/** A folder whose owner and mode are the sandbox's, also if the image has one there. */
export type OwnFolder = { readonly path: string; readonly owner: number; readonly mode: number };

export type Skeleton = {
  readonly image: string;
  readonly user: ImageUser;
  /** This machine's id of the sandbox's user 0. */
  readonly idBase: number;
  readonly mountPoints: readonly string[];
  readonly folders: readonly OwnFolder[];
  /** Files of /etc by name. */
  readonly etc: Readonly<Record<string, string>>;
};

const folderMode = 0o755;
const fileMode = 0o644;

/**
 * Closed to commands in every image, also in one whose files all belong to id 1000: who may write in such a folder can put another
 * one in its place, and sandboxd's loader reads in `/etc`.
 */
const closed: ReadonlySet<string> = new Set(['/', '/etc']);

/** Libraries that every program loads, sandboxd's helpers too. */
const preloaded = 'ld.so.preload';

/** A folder's owners, as ids of the sandbox, and mode. */
export type Attributes = { readonly owner: number; readonly group: number; readonly mode: number };

/**
 * Makes it in `folder`, and returns what it made by path. Throws `start_failed` if the image has a link or a file where a folder
 * must be.
 */
export function makeSkeleton(
  folder: string,
  { image, user, idBase, mountPoints, folders, etc }: Skeleton,
): ReadonlyMap<string, Attributes> {
  const made = new Map<string, Attributes>();
  const own = new Map(folders.map((each) => [each.path, each]));

  const make = (path: string, target: string) => {
    if (made.has(path)) return;
    if (path !== '/') make(posix.dirname(path), target);
    const found = statsOf(join(image, path));
    if (found?.isDirectory() === false)
      throw unplaceable(target, path, found.isSymbolicLink() ? 'link' : 'file');
    const attributes = attributesOf(path, { own: own.get(path), found, user });
    made.set(path, attributes);
    const at = join(folder, path);
    mkdirSync(at, { recursive: true });
    chmodSync(at, attributes.mode);
    chownSync(at, idBase + attributes.owner, idBase + attributes.group);
  };
  make('/', '/');
  for (const path of [...mountPoints, ...own.keys()]) make(path, path);
  if (statsOf(join(image, 'etc'))?.isDirectory() === false) return made;
  make('/etc', '/etc');
  for (const [name, text] of Object.entries({ ...preloadedOf(image), ...etc })) {
    const file = join(folder, 'etc', name);
    writeFileSync(file, text);
    chmodSync(file, fileMode);
    chownSync(file, idBase, idBase);
  }
  return made;
}

type Known = {
  readonly own: OwnFolder | undefined;
  readonly found: Stats | undefined;
  readonly user: ImageUser;
};

function attributesOf(path: string, { own, found, user }: Known): Attributes {
  if (own !== undefined) return { ...own, group: own.owner };
  if (found === undefined || closed.has(path)) return { owner: 0, group: 0, mode: folderMode };
  return {
    owner: ownerInside(found.uid, user.uid),
    group: ownerInside(found.gid, user.gid),
    mode: found.mode & 0o7777,
  };
}

/** Empty also if it is larger than any real one: commands must not write it in any case. */
function preloadedOf(image: string): Readonly<Record<string, string>> {
  const file = join(image, 'etc', preloaded);
  return statsOf(file)?.isFile() === true ? { [preloaded]: readRegular(file) } : {};
}

const statsOf = (path: string) => lstatSync(path, { throwIfNoEntry: false });
