import { lstatSync, mkdirSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { TarError } from '#src/protocol/sandboxd/tar.ts';

/** The kernel's limit. A path with more links is a loop. */
const mostLinks = 40;

/**
 * Where a path of an archive lies, as a process would find it whose root is `root`: absolute paths and links begin there, and
 * `..` of a link ends there. Links on the way are followed; what the path itself names is not. So nothing that an archive
 * names, and no link that it has made before, leads out of the folder. Folders on the way are made if `makes`, else null is
 * returned where one is missing. Throws `TarError`.
 *
 * Safe only while no other process creates links in the folder.
 */
export function placeIn(root: string, path: string, makes: boolean): string | null {
  const names = namesIn(path);
  if (names.includes('..')) throw new TarError(`${path} leads out of the folder`);
  const last = names.pop();
  if (last === undefined) return root;
  const folder = walk(root, names, makes, path);
  return folder === null ? null : join(folder, last);
}

const namesIn = (path: string) => path.split('/').filter((name) => name !== '' && name !== '.');

function walk(root: string, names: readonly string[], makes: boolean, path: string): string | null {
  const left = [...names];
  let at = root;
  let links = 0;
  for (let name = left.shift(); name !== undefined; name = left.shift()) {
    const next = name === '..' ? above(root, at) : join(at, name);
    const found = lstatSync(next, { throwIfNoEntry: false });
    if (found?.isSymbolicLink() === true) {
      links += 1;
      if (links > mostLinks) throw new TarError(`the links on the way to ${path} have no end`);
      const target = readlinkSync(next);
      left.unshift(...namesIn(target));
      if (target.startsWith('/')) at = root;
      continue;
    }
    if (found === undefined) {
      if (!makes) return null;
      mkdirSync(next, { mode: 0o755 });
    } else if (!found.isDirectory()) throw new TarError(`${path} lies below a file`);
    at = next;
  }
  return at;
}

const above = (root: string, folder: string) => (folder === root ? root : dirname(folder));
