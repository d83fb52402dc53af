import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Template } from '#src/model/environment.ts';
import { isAtOrBelow } from '#src/protocol/sandboxd/at-or-below.ts';
import { isReserved, places, type Users } from '../bwrap/places.ts';
import type { ImageSettings } from '../image/read-image.ts';

/** A folder of the sandbox's disk, and where commands find it. */
export type WritablePlace = {
  /** Its name on the disk. */
  readonly name: string;
  readonly target: string;
  readonly owner: 'user' | 'root';
  readonly mode: number;
  /** Folder of this host whose files it starts with; null: it starts empty. */
  readonly filledFrom: string | null;
};

/** All may write there, and no user may remove another's files. */
export const sharedMode = 0o1777;
/**
 * Closed to the grader. What the grader opens there itself could be a link to its own input, where the answer is, or a pipe that never
 * ends. So it asks for the policy's user (`as-policy`), whose links lead nowhere.
 */
export const closedMode = 0o770;
/** As in a container. Where commands are root, the grader has no other id, and services under other ids shall find their files. */
export const openMode = 0o755;
export const homeMode = 0o700;
const othersMode = 0o007;

/**
 * What commands can write: the workspace, the temporary folders, the home, and the template's folders. Each is a mount of its own, so a
 * rename from one to another fails with EXDEV. `root`: the image's folder; null: this host's programs.
 */
export function writablePlaces(
  { folders = [], data }: Pick<Template, 'folders' | 'data'>,
  users: Users,
  root: string | null,
  { home }: Pick<ImageSettings, 'home'>,
): readonly WritablePlace[] {
  const mode = users === 'two-user' ? closedMode : openMode;
  const own = (name: string, target: string): WritablePlace => ({
    name,
    target,
    owner: 'user',
    mode,
    filledFrom: null,
  });
  const shared = { owner: 'root', mode: sharedMode, filledFrom: null } as const;
  const isFree = (place: string) => isRoomFor(place, { folders, data }, root);
  return [
    own('workspace', places.workspace),
    { name: 'tmp', target: places.temporary, ...shared },
    ...(isFree(places.keptTemporary) ? [{ name: 'var-tmp', target: places.keptTemporary, ...shared }] : []),
    ...(isOutside(home) && isFree(home) ? homePlace(home, root, users) : []),
    ...folders.map((folder, index) => own(`folder-${index}`, folder)),
  ];
}

/** Whether it can be made there: the template has nothing at or above it, and the image no link or file. */
export function isRoomFor(
  place: string,
  { folders = [], data }: Pick<Template, 'folders' | 'data'>,
  root: string | null,
): boolean {
  const taken = [...folders, ...data.map(({ target }) => target)];
  return !taken.some((each) => isAtOrBelow(place, each)) && canHold(root, place);
}

/** Not inside a folder that every sandbox has. */
export const isOutside = (home: string): boolean =>
  !isReserved(home) &&
  ![places.workspace, places.temporary, places.keptTemporary].some((each) => isAtOrBelow(home, each));

/** Whether every folder down to `place` is one or can be made: below a link or a file of the image nothing can be mounted. */
function canHold(root: string | null, place: string): boolean {
  if (root === null) return true;
  const above = place.split('/').slice(1);
  return above.every((_, index) => {
    const found = lstatSync(join(root, ...above.slice(0, index + 1)), { throwIfNoEntry: false });
    return found === undefined || found.isDirectory();
  });
}

/**
 * The image's home becomes writable by a copy of it. If commands are another user than the grader, only a home that holds nothing but the
 * files of every account, such as `.profile`, is copied. What else an image has there may be what a grader runs, so that home stays
 * as it is: readable, and closed to writing. Where commands are root, what a grader runs is theirs anyway.
 */
function homePlace(home: string, root: string | null, users: Users): readonly WritablePlace[] {
  const place = { name: 'home', target: home, owner: 'user' } as const;
  const source = root === null ? null : join(root, home);
  const found = source === null ? undefined : lstatSync(source, { throwIfNoEntry: false });
  if (source === null || found === undefined) return [{ ...place, mode: homeMode, filledFrom: null }];
  if (!(users === 'root' ? isSmall(source) : holdsAccountFilesOnly(source))) return [];
  const closed = users === 'two-user' ? othersMode : 0;
  return [{ ...place, mode: found.mode & 0o777 & ~closed, filledFrom: source }];
}

/** What `useradd --create-home` copies. */
const filesOfAccounts: ReadonlySet<string> = new Set([
  '.bash_logout',
  '.bash_profile',
  '.bashrc',
  '.cshrc',
  '.profile',
  '.tcshrc',
  '.zshrc',
]);

const holdsAccountFilesOnly = (folder: string): boolean =>
  readdirSync(folder, { withFileTypes: true }).every(
    (entry) => entry.isFile() && filesOfAccounts.has(entry.name),
  );

/** So much is copied within some milliseconds of every start. */
const mostEntries = 500;
const mostBytes = 4 * 1024 * 1024;

function isSmall(home: string): boolean {
  const waiting = [home];
  let entries = 0;
  let bytes = 0;
  for (let folder = waiting.pop(); folder !== undefined; folder = waiting.pop()) {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      const found = lstatSync(path);
      entries += 1;
      bytes += found.size;
      const isPlain = found.isFile() || found.isDirectory() || found.isSymbolicLink();
      if (!isPlain || entries > mostEntries || bytes > mostBytes) return false;
      if (found.isDirectory()) waiting.push(path);
    }
  }
  return true;
}
