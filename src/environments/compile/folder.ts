import type { TreeDigest } from '../tree-digest.ts';

/** What compiling needs to know of the files around a YAML file; paths are as written there. */
export interface Folder {
  absolute(path: string): string;
  /** The file's text, or null where it cannot be read. */
  text(path: string): string | null;
  isFolder(path: string): boolean;
  /** Digest of all that a file or folder holds, or why there is none. */
  tree(path: string): TreeDigest;
}
