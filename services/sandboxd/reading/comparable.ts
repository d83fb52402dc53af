import { basename, resolve } from 'node:path';
import { matches } from '#src/protocol/sandboxd/path-pattern.ts';
import { neverCompared } from '#src/protocol/sandboxd/never-compared.ts';
import type { Compared } from '#src/protocol/sandboxd/wire.ts';
import type { Config } from '../config.ts';
import { WireError } from '../wire-error.ts';

/*
 * What of a sandbox is compared with another one, and may be changed there by what the policy left. A grader works in that other one, so
 * nothing that it runs by itself is ever among it: programs, libraries, settings, homes, and modules that interpreters load at every start.
 */

const homes = ['/root', '/home'];

/** Python runs them at the start of every program, from any folder on its path. */
const neverNamed = ['sitecustomize*', 'usercustomize*', '*.pth'];

export type Comparable = {
  /** Absolute, without one that lies in another. */
  readonly below: readonly string[];
  readonly isLeftOut: (path: string) => boolean;
};

/** Throws `invalid_request` for folders that are never compared. `home`: of commands. */
export function comparableOf(
  config: Pick<Config, 'workspace' | 'folders'>,
  { below, except }: Compared,
  home: string,
): Comparable {
  const folders = below.map((each) => resolve(config.workspace, each));
  const allHomes = [...homes, home];
  const isHome = (path: string) => allHomes.some((each) => isIn(path, each));
  const isOfWorkspace = (path: string) => isIn(path, config.workspace);
  for (const folder of folders) {
    if (folder === '/' || neverCompared.some((each) => isIn(folder, each)))
      throw notComparable(folder, 'programs or settings are there');
    if (isHome(folder) && !isOfWorkspace(folder)) throw notComparable(folder, 'it is in a home');
  }
  const { workspace } = config;
  const isLeftOut = (path: string): boolean => {
    const name = basename(path);
    if ([...neverNamed, ...except].some((each) => !each.includes('/') && matches(each, name))) return true;
    if (except.some((each) => each.startsWith('/') && isPath(each, path))) return true;
    if (neverCompared.some((each) => isIn(path, each))) return true;
    if (!isHome(path)) return false;
    // A home is full of settings that programs read; of the task's own folder in one they begin with a dot.
    return !isOfWorkspace(path) || (path.startsWith(`${workspace}/.`) && isHome(workspace));
  };
  const alone = folders.filter((each) => !folders.some((other) => other !== each && isIn(each, other)));
  return { below: [...new Set(alone)], isLeftOut };
}

/** The path itself or one below. */
export const isIn = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);

function isPath(pattern: string, path: string): boolean {
  const names = path.split('/');
  const wanted = pattern.replace(/\/$/, '').split('/');
  return names.length === wanted.length && wanted.every((each, index) => matches(each, names[index] ?? ''));
}

const notComparable = (folder: string, why: string) =>
  new WireError('invalid_request', `${folder} cannot be compared: ${why}`);
