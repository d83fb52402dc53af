import { dirname, resolve } from 'node:path';

/** Where `exec` would look for a program: as it is named, or in each folder of the PATH. Relative ones begin in `folder`. */
export function placesOf(
  program: string,
  path: string,
  folder: string,
  mostFolders?: number,
): readonly string[] {
  if (program.includes('/')) return [resolve(folder, program)];
  return path.split(':', mostFolders).map((each) => resolve(folder, each === '' ? '.' : each, program));
}

/** The folder that it stands in, and all above that. */
export function foldersAbove(path: string): readonly string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersAbove(folder)];
}
