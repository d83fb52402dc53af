import type { TreeDigest } from '../tree-digest.ts';

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
