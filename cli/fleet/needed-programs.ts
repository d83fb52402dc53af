import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { CommandError } from '../command-error.ts';

/** A program of this machine that a fleet on it runs, and Debian's package of it. */
export type NeededProgram = { readonly name: string; readonly package: string };

const redis: NeededProgram = { name: 'redis-server', package: 'redis-server' };
/** Makes the sandboxes, and finds what Node needs in a sandbox that has no library. */
const sandboxes: readonly NeededProgram[] = [
  { name: 'bwrap', package: 'bubblewrap' },
  { name: 'ldd', package: 'libc-bin' },
];
/** Each part ends with the fleet's own process. */
const supervision: NeededProgram = { name: 'setpriv', package: 'util-linux' };

export const neededPrograms = (engine: 'local' | 'kubernetes'): readonly NeededProgram[] => [
  redis,
  supervision,
  ...(engine === 'local' ? sandboxes : []),
];

/** What a fleet fetches and unpacks images of registries with. Without them it runs all other sandboxes. */
export const imagePrograms: readonly NeededProgram[] = [
  { name: 'skopeo', package: 'skopeo' },
  { name: 'zstd', package: 'zstd' },
];

export const missingPrograms = (
  needed: readonly NeededProgram[],
  path = process.env['PATH'] ?? '',
): readonly NeededProgram[] =>
  needed.filter(({ name }) => !path.split(delimiter).some((folder) => isProgram(join(folder, name))));

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Throws a CommandError with the packages to install. */
export function requirePrograms(engine: 'local' | 'kubernetes'): void {
  const missing = missingPrograms(neededPrograms(engine));
  if (missing.length === 0) return;
  throw new CommandError(
    `this machine cannot run a fleet: not installed: ${missing.map(({ name }) => name).join(', ')}`,
    'this machine',
    `install Debian's ${missing.map((one) => one.package).join(', ')}, or name a fleet elsewhere with --url`,
  );
}
