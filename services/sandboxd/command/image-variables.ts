import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { imageEnvIn } from '#src/protocol/sandboxd/image-env-variable.ts';
import type { Config } from '../config.ts';
import { placesOf, policyIds, rights, surelyMay } from '../programs/permissions.ts';
import { sanePath } from './command-env.ts';

/**
 * sandboxd's own environment with the image's variables added, which only commands get. Computed once at the start, because the
 * image does not change; it is part of every start's cost.
 */
export function imageEnvironment(own: NodeJS.ProcessEnv, config: Config): NodeJS.ProcessEnv {
  const image: NodeJS.ProcessEnv = { ...own, ...imageEnvIn(own) };
  return { ...pythonCache(config, image['PATH'] ?? sanePath), ...image };
}

/** Removed with the sandbox. */
const cacheFolder = '/tmp/.python-cache';

/**
 * A cache folder for Python if it cannot write compiled modules into the image: otherwise it compiles its own modules at every
 * start, which takes five times as long. Not if the image has them compiled: with a cache folder Python ignores those.
 */
function pythonCache(config: Config, path: string): NodeJS.ProcessEnv {
  const modules = modulesOfPython(path);
  const isFine = modules !== null && (isCompiled(modules) || mayWrite(config, modules));
  return isFine ? {} : { PYTHONPYCACHEPREFIX: cacheFolder };
}

/** The first module that every Python loads. */
const firstModules = 'encodings';

/** Of the first Python on the PATH; null if there is none with the usual layout. */
function modulesOfPython(path: string): string | null {
  const found = placesOf('python3', path, '/').find((place) => existsSync(place));
  if (found === undefined) return null;
  const program = realpathSync.native(found);
  const version = basename(program);
  return /^python3\.\d+$/.test(version) ? join(dirname(program), '../lib', version, firstModules) : null;
}

const isCompiled = (modules: string) => existsSync(join(modules, '__pycache__'));

/** By permissions and by the mount: a read-only mount does not show in permissions. */
function mayWrite(config: Config, folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return surelyMay(policyIds(config), folder, rights.write);
  } catch {
    return false;
  }
}
