import { resolve } from 'node:path';

/** Where `exec` would look for a program: as it is named, or in each folder of the PATH. Relative ones begin in `folder`. */
export function placesOf(program: string, path: string, folder: string): readonly string[] {
  if (program.includes('/')) return [resolve(folder, program)];
  return path.split(':').map((each) => resolve(folder, each === '' ? '.' : each, program));
}
