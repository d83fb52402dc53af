import { posix } from 'node:path';
import { isAtOrBelow } from '#src/protocol/sandboxd/at-or-below.ts';
import { comparePaths } from '#src/protocol/sandboxd/compare-paths.ts';
import { BadListing, type Listed } from './read-listing.ts';

/** A file whose content is to be taken, or what needs none. */
export type Planned =
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly mode: number;
      readonly bytes: number;
      readonly sha256: string;
    }
  | { readonly kind: 'folder'; readonly path: string; readonly mode: number }
  | { readonly kind: 'link'; readonly path: string; readonly target: string };

export type Comparison = {
  readonly kind: 'compared';
  readonly removed: readonly string[];
  readonly planned: readonly Planned[];
  readonly leftOut: readonly string[];
};

export type ChangeBounds = {
  readonly mostFiles: number;
  readonly mostBytes: number;
  readonly mostPathBytes: number;
};

/** Thrown by the listing of the policy's sandbox, while another one is read too. */
export class PolicysSide extends Error {
  readonly thrown: unknown;

  constructor(thrown: unknown) {
    super('the sandbox of the policy could not be listed');
    this.thrown = thrown;
  }
}

/** Beyond what the author allows; the message says what. */
export class TooManyChanges extends Error {}

/** As many are named to a person. */
const mostLeftOut = 20;

/** Set-user-id and the like stay behind. */
const permissions = 0o777;

/**
 * What differs between two sandboxes of one image: `image` is the listing of the one where no policy was. Both have each folder before what is
 * in it, and names in the same order, so that neither has to be in memory. Throws {@link TooManyChanges}, what `image` throws, and
 * {@link PolicysSide} for what the other listing throws, or if it has not the same folders to begin with.
 */
export async function compare(
  image: AsyncIterable<Listed>,
  policys: AsyncIterable<Listed>,
  bounds: ChangeBounds,
): Promise<Comparison> {
  const found = new Differences(bounds);
  const [left, right] = [image[Symbol.asyncIterator](), policys[Symbol.asyncIterator]()];
  try {
    await walkBoth(left, right, found);
    return found;
  } finally {
    // Bounds may end it long before the listings end.
    await Promise.all([left.return?.(), right.return?.()]);
  }
}

async function walkBoth(
  left: AsyncIterator<Listed>,
  right: AsyncIterator<Listed>,
  found: Differences,
): Promise<void> {
  let [was, is] = [await next(left), await nextOfPolicys(right)];
  while (was !== null || is !== null) {
    const order = was === null ? 1 : is === null ? -1 : comparePaths(was[1], is[1]);
    if (order <= 0 && was !== null) {
      if (order === 0 && is !== null) found.both(was, is);
      else found.gone(was);
      was = await next(left);
    } else if (is !== null) found.added(is);
    if (order >= 0) is = await nextOfPolicys(right);
  }
}

async function next(entries: AsyncIterator<Listed>): Promise<Listed | null> {
  const { done, value } = await entries.next();
  return done === true ? null : value;
}

async function nextOfPolicys(entries: AsyncIterator<Listed>): Promise<Listed | null> {
  try {
    return await next(entries);
  } catch (thrown) {
    throw new PolicysSide(thrown);
  }
}

const otherFolders = (path: string) => new PolicysSide(new BadListing(`${path} is not in its place`));

class Differences implements Comparison {
  readonly kind = 'compared';
  readonly removed: string[] = [];
  readonly planned: Planned[] = [];
  readonly leftOut: string[] = [];
  /** The folders that were compared, absolute. */
  readonly #below: string[] = [];
  readonly #bounds: ChangeBounds;
  #bytes = 0;
  #pathBytes = 0;
  #leftOutCount = 0;

  constructor(bounds: ChangeBounds) {
    this.#bounds = bounds;
  }

  gone(was: Listed): void {
    if (was[0] === 'root') throw otherFolders(was[1]);
    const last = this.removed.at(-1);
    // It goes with its folder.
    if (last !== undefined && was[1].startsWith(`${last}/`)) return;
    this.#count(was[1], 0);
    this.removed.push(was[1]);
  }

  added(is: Listed): void {
    const planned = this.#plannedOf(is);
    if (planned !== null) this.#plan(planned);
  }

  both(was: Listed, is: Listed): void {
    if ((was[0] === 'root') !== (is[0] === 'root')) throw otherFolders(is[1]);
    // It is never written itself, so its mode stays that of the image.
    if (was[0] === 'root') return void this.#below.push(was[1]);
    if (isSame(was, is)) return;
    const planned = this.#plannedOf(is);
    // A file takes the place of another one; anything else has to make way first.
    const replaces = was[0] === is[0] && planned !== null;
    if (!replaces) this.gone(was);
    if (planned !== null) this.#plan(planned);
  }

  #plannedOf(is: Listed): Planned | null {
    const path = is[1];
    switch (is[0]) {
      case 'file':
        return { kind: 'file', path, mode: is[2] & permissions, bytes: is[3], sha256: is[4] };
      case 'folder':
        return { kind: 'folder', path, mode: is[2] & permissions };
      case 'link':
        if (staysInside(path, is[2], this.#below)) return { kind: 'link', path, target: is[2] };
        return this.#leaveOut(`${path} -> ${is[2]}`);
      case 'root':
        throw otherFolders(path);
      case 'closed':
      case 'other':
        return this.#leaveOut(path);
    }
  }

  #leaveOut(what: string): null {
    this.#leftOutCount += 1;
    if (this.#leftOutCount > this.#bounds.mostFiles)
      throw new TooManyChanges(
        `more than ${this.#bounds.mostFiles} links out, devices and unreadable files are there`,
      );
    if (this.leftOut.length < mostLeftOut) this.leftOut.push(what);
    return null;
  }

  #plan(planned: Planned): void {
    this.#count(planned.path, planned.kind === 'file' ? planned.bytes : 0);
    this.planned.push(planned);
  }

  #count(path: string, bytes: number): void {
    const { mostFiles, mostBytes, mostPathBytes } = this.#bounds;
    const pathBytes = Buffer.byteLength(path);
    this.#bytes += bytes + pathBytes;
    this.#pathBytes += pathBytes;
    if (this.planned.length + this.removed.length >= mostFiles)
      throw new TooManyChanges(`more than ${mostFiles} files, folders and links are new, changed or removed`);
    if (this.#bytes > mostBytes)
      throw new TooManyChanges(`what is new or changed has more than ${mostBytes} bytes, names included`);
    if (this.#pathBytes > mostPathBytes)
      throw new TooManyChanges(
        `the names of what is new, changed or removed have more than ${mostPathBytes} bytes`,
      );
  }
}

/** Files that their user cannot read are the same if nothing else tells them apart. */
function isSame(was: Listed, is: Listed): boolean {
  if (was[0] === 'other' && is[0] === 'other') return true;
  if (was[0] === 'file' && is[0] === 'file')
    return was[4] === is[4] && (was[2] & permissions) === (is[2] & permissions);
  if (was[0] === 'link' || is[0] === 'link' || was[0] !== is[0]) return was[0] === is[0] && was[2] === is[2];
  return (was[2] & permissions) === (is[2] & permissions);
}

/**
 * Whether a link leads to something below the folders, whatever else is a link there: `..` counts only at the beginning, where the folders
 * above are known to be folders.
 */
export function staysInside(path: string, target: string, below: readonly string[]): boolean {
  const names = target.split('/').filter((name) => name !== '' && name !== '.');
  const climbs = names.findIndex((name) => name !== '..');
  if (target === '' || (climbs !== -1 && names.slice(climbs).includes('..'))) return false;
  if (target.startsWith('/') && names.includes('..')) return false;
  const real = target.startsWith('/') ? posix.normalize(target) : posix.join(posix.dirname(path), target);
  const at = real.endsWith('/') && real !== '/' ? real.slice(0, -1) : real;
  return below.some((folder) => isAtOrBelow(at, folder));
}
