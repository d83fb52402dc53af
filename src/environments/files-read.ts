import { hash as digestOf } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { treeDigest, type TreeDigest, treeStamp } from './tree-digest.ts';

/**
 * Reads files and remembers what it found, so that one can ask later whether they still say the same. By content and
 * not by watches or times of change: a mounted ConfigMap changes by a swap of links, editors rename what they have
 * written, and some folders are on disks that tell nobody.
 */
export class FilesRead {
  readonly #found = new Map<string, Found>();

  /** Names in a folder; none where it cannot be read. */
  async names(folder: string): Promise<readonly string[]> {
    const names = await namesIn(folder);
    this.#remember(folder, 'names', names.join('\n'));
    return names;
  }

  /** Throws what reading throws. */
  async text(path: string): Promise<string> {
    this.#remember(path, 'text', await looks.text(path));
    return readFile(path, 'utf8');
  }

  /** Null where it cannot be read. */
  textNow(path: string): string | null {
    const text = readIfThere(path);
    this.#remember(path, 'text', text === null ? nothing : hash(text));
    return text;
  }

  isFolder(path: string): boolean {
    const is = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
    this.#remember(path, 'folder', String(is));
    return is;
  }

  /** Names of folders in a folder, but for those that are an editor's or the kubelet's own. */
  foldersIn(path: string): readonly string[] {
    const names = foldersNow(path);
    this.#remember(path, 'folders', names.join('\n'));
    return names;
  }

  /** All files below a folder, by relative path; a text where one cannot be read, or they are too many. */
  filesBelow(path: string): FileTree | string {
    const found = filesNow(path);
    this.#remember(path, 'files', filesText(found));
    return found;
  }

  /**
   * Of all that a file or folder holds. Whether it is as it was is told by names, sizes and times: a corpus of many
   * megabytes cannot be read every two seconds, and whoever builds from it reads it again.
   */
  treeNow(path: string): TreeDigest {
    // Stamped before it is read: what changes meanwhile is found at the next look.
    this.#remember(path, 'tree', stampNow(path));
    return treeDigest(path);
  }

  /** Whether everything that was read would be found as it was. */
  async unchanged(): Promise<boolean> {
    for (const { path, look, fingerprint } of this.#found.values()) {
      if ((await looks[look](path)) !== fingerprint) return false;
    }
    return true;
  }

  #remember(path: string, look: Look, fingerprint: string): void {
    this.#found.set(`${look} ${path}`, { path, look, fingerprint });
  }
}

type Look = keyof typeof looks;
type Found = { readonly path: string; readonly look: Look; readonly fingerprint: string };

/** Of what cannot be read; why makes no difference. */
const nothing = 'nothing';

const looks = {
  names: async (path: string) => (await namesIn(path)).join('\n'),
  text: (path: string) => readFile(path, 'utf8').then(hash, () => nothing),
  tree: (path: string) => Promise.resolve(stampNow(path)),
  folder: async (path: string) =>
    String(
      await stat(path).then(
        (found) => found.isDirectory(),
        () => false,
      ),
    ),
  folders: async (path: string) => foldersNow(path).join('\n'),
  files: async (path: string) => filesText(filesNow(path)),
};

type FileTree = Readonly<Record<string, Buffer>>;

/** Of one folder: what is more is a repository, and belongs into an image. */
const mostFilesOfTree = 2_000;
/** Beside a sample in the body of one grade. */
const mostBytesOfTree = 4 * 1024 * 1024;

const foldersNow = (path: string): readonly string[] =>
  entriesOf(path)
    .filter((name) => !name.startsWith('.') && isFolderNow(join(path, name)))
    .toSorted();

const isFolderNow = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

function entriesOf(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function filesNow(path: string): FileTree | string {
  try {
    const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).toSorted();
    const files = names.filter((name) => statSync(join(path, name)).isFile());
    if (files.length > mostFilesOfTree) return `holds ${files.length} files; at most ${mostFilesOfTree}`;
    const bytes = files.reduce((sum, name) => sum + statSync(join(path, name)).size, 0);
    if (bytes > mostBytesOfTree) return `has ${bytes} bytes; a row may have ${mostBytesOfTree}`;
    return Object.fromEntries(files.map((name) => [name, readFileSync(join(path, name))]));
  } catch (thrown) {
    return `cannot be read: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}

function filesText(tree: FileTree | string): string {
  if (typeof tree === 'string') return tree;
  return digestOf(
    'sha256',
    Object.entries(tree)
      .map(([name, bytes]) => `${name} ${digestOf('sha256', bytes)}`)
      .join('\n'),
  );
}

const namesIn = async (folder: string) => (await readdir(folder).catch((): string[] => [])).toSorted();

/** Why a file cannot be read makes no difference to the sentence: its author sees the name. */
function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

const stampNow = (path: string): string => treeStamp(path) ?? nothing;

const hash = (text: string) => digestOf('sha256', text);

/** What compiling needs to know of the files around a YAML file; paths are as written there. */
export interface Folder {
  absolute(path: string): string;
  /** The file's text, or null where it cannot be read. */
  text(path: string): string | null;
  isFolder(path: string): boolean;
  /** Folders in a folder, by name; empty where there are none. */
  foldersIn(path: string): readonly string[];
  /** All files below it by relative path, or why they cannot be had: a sentence's end. */
  filesBelow(path: string): Readonly<Record<string, Buffer>> | string;
  /** Digest of all that a file or folder holds, or why there is none. */
  tree(path: string): TreeDigest;
}

/** The files around a YAML file. */
export function folderOf(file: string, files: FilesRead): Folder {
  const absolute = (path: string) => resolve(dirname(file), path);
  return {
    absolute,
    text: (path) => files.textNow(absolute(path)),
    isFolder: (path) => files.isFolder(absolute(path)),
    foldersIn: (path) => files.foldersIn(absolute(path)),
    filesBelow: (path) => files.filesBelow(absolute(path)),
    tree: (path) => files.treeNow(absolute(path)),
  };
}
