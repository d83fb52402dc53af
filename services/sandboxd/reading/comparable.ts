import { basename, resolve } from 'node:path';
import { isAtOrBelow } from '#src/protocol/sandboxd/at-or-below.ts';
import { matches } from '#src/protocol/sandboxd/path-pattern.ts';
import { neverCompared } from '#src/protocol/sandboxd/never-compared.ts';
import type { Compared } from '#src/protocol/sandboxd/wire.ts';
import type { Config } from '../config.ts';
import { accountsHere } from '../programs/accounts.ts';
import { WireError } from '../wire-error.ts';

/*
 * What of a sandbox is compared with another one, and may be changed there by what the policy left. A grader works in that other one, so
 * nothing that it runs by itself is ever among it: programs, libraries, settings, homes, and modules that interpreters load at every start.
 * The policy's sandbox only saves the work of listing the rest: the other one decides.
 */

/** Python runs them at the start of every program, from any folder on its path. */
const neverNamed = ['sitecustomize*', 'usercustomize*', '*.pth'];

const usualHomes = ['/root', '/home'];

/**
 * Those of the image: of root, of the commands' user, and what its environment names. Corral gives commands the workspace as a home where
 * the image has none; such a workspace has no settings of the image.
 */
export function homesHere(
  { workspace, policyUid }: Pick<Config, 'workspace' | 'policyUid'>,
  env: NodeJS.ProcessEnv,
): readonly string[] {
  const ofUsers = accountsHere()
    .filter(({ uid }) => uid === 0 || uid === policyUid)
    .map(({ home }) => home);
  const named = env['HOME'] === workspace ? [] : [env['HOME'] ?? ''];
  const homes = [...usualHomes, ...ofUsers, ...named];
  return [...new Set(homes.filter((home) => home.startsWith('/') && home !== '/'))];
}

/** What is compared, in a sandbox with this workspace and these homes. */
export type ComparedHere = Compared & { readonly workspace: string; readonly homes: readonly string[] };

export type Comparable = {
  /** Absolute, without one that lies in another. */
  readonly below: readonly string[];
  readonly isLeftOut: (path: string) => boolean;
  /** Whether the author excepts this very path, and not only its name. */
  readonly isExcepted: (path: string) => boolean;
  /** Whether the author excepts a path below it. */
  readonly leadsToExcepted: (path: string) => boolean;
};

/** Throws `invalid_request` for folders that are never compared. */
export function comparableOf({ workspace, homes, below, except }: ComparedHere): Comparable {
  const folders = below.map((each) => resolve(workspace, each));
  const isHome = (path: string) => homes.some((each) => isAtOrBelow(path, each));
  const isOfWorkspace = (path: string) => isAtOrBelow(path, workspace);
  for (const folder of folders) {
    if (folder === '/' || neverCompared.some((each) => isAtOrBelow(folder, each)))
      throw notComparable(folder, 'programs or settings are there');
    if (isHome(folder) && !isOfWorkspace(folder)) throw notComparable(folder, 'it is in a home');
  }
  const names = [...neverNamed, ...except.filter((each) => !each.includes('/'))];
  const paths = except.filter((each) => each.startsWith('/')).map(stepsOf);
  const isExcepted = (path: string) => paths.some((steps) => isPath(steps, path));
  const leadsToExcepted = (path: string) => {
    const depth = stepsOf(path).length;
    return paths.some((steps) => steps.length > depth && isPath(steps.slice(0, depth), path));
  };
  const isLeftOut = (path: string): boolean => {
    const name = basename(path);
    if (names.some((each) => matches(each, name)) || isExcepted(path)) return true;
    if (neverCompared.some((each) => isAtOrBelow(path, each))) return true;
    if (!isHome(path)) return false;
    // A home is full of settings that programs read; of the task's own folder in one they begin with a dot.
    return !isOfWorkspace(path) || (path.startsWith(`${workspace}/.`) && isHome(workspace));
  };
  const alone = folders.filter(
    (each) => !folders.some((other) => other !== each && isAtOrBelow(each, other)),
  );
  return { below: [...new Set(alone)], isLeftOut, isExcepted, leadsToExcepted };
}

const stepsOf = (path: string): readonly string[] => path.replace(/\/$/, '').split('/');

function isPath(pattern: readonly string[], path: string): boolean {
  const steps = stepsOf(path);
  return steps.length === pattern.length && pattern.every((each, index) => matches(each, steps[index] ?? ''));
}

const notComparable = (folder: string, why: string) =>
  new WireError('invalid_request', `${folder} cannot be compared: ${why}`);
