import { createHash } from 'node:crypto';
import {
  type Dirent,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  type Stats,
  statSync,
} from 'node:fs';
import { join } from 'node:path';

/** Either the sha256 (hex) of a tree, or why it has none, as an end of the sentence "… names PATH, …". */
export type TreeDigest = { readonly digest: string } | { readonly trouble: string };

/** A corpus of packages has some thousand; what has more is the wrong folder, and would keep every start waiting. */
const mostFiles = 100_000;

type Entry = { readonly path: string; readonly stats: Stats };

/** sha256 of a file, or of all files of a folder with their names, whether they can be run, and where links point. */
export function treeDigest(path: string): TreeDigest {
  try {
    return { digest: digestOf(path) };
  } catch (thrown) {
    if (thrown instanceof Unfit) return { trouble: thrown.message };
    if (!(thrown instanceof Error && 'code' in thrown)) throw thrown;
    const isMissing = thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR';
    return { trouble: isMissing ? 'which is not there' : `which cannot be read (${String(thrown.code)})` };
  }
}

/** What a change of the tree changes, at a thousandth of the cost of reading it; null where it cannot be looked at. */
export function treeStamp(path: string): string | null {
  const hash = createHash('sha256');
  try {
    for (const { path: name, stats } of entriesOf(path)) {
      const { size, mtimeMs, ctimeMs, ino, mode } = stats;
      hash.update(JSON.stringify([name, size, mtimeMs, ctimeMs, ino, mode]));
    }
  } catch {
    return null;
  }
  return hash.digest('hex');
}

class Unfit extends Error {}

function digestOf(root: string): string {
  const hash = createHash('sha256');
  for (const { path, stats } of entriesOf(root)) {
    const at = join(root, path);
    if (stats.isDirectory()) hash.update(JSON.stringify(['folder', path]));
    else if (stats.isSymbolicLink()) hash.update(JSON.stringify(['link', path, readlinkSync(at)]));
    else if (stats.isFile()) hash.update(JSON.stringify(['file', path, isRun(stats), sha256(at)]));
    else throw new Unfit(`in which ${path} is neither file, folder nor link`);
  }
  return hash.digest('hex');
}

const isRun = ({ mode }: Stats): boolean => (mode & 0o111) !== 0;
const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** The tree's own entry first, under the empty name, then all below in one order on every machine. */
function* entriesOf(root: string): Generator<Entry> {
  const stats = statSync(root);
  yield { path: '', stats };
  if (!stats.isDirectory()) return;
  let count = 0;
  for (const path of pathsBelow(root, '')) {
    count += 1;
    if (count > mostFiles) throw new Unfit(`which holds more than ${mostFiles} files`);
    yield { path, stats: lstatSync(join(root, path)) };
  }
}

function* pathsBelow(root: string, folder: string): Generator<string> {
  const found = readdirSync(join(root, folder), { withFileTypes: true });
  for (const entry of found.toSorted(byName)) {
    const path = join(folder, entry.name);
    yield path;
    if (entry.isDirectory()) yield* pathsBelow(root, path);
  }
}

const byName = (one: Dirent, other: Dirent): number => (one.name < other.name ? -1 : 1);
