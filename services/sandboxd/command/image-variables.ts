import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { imageEnvIn } from '#src/protocol/sandboxd/image-env-variable.ts';
import type { Config } from '../config.ts';
import { placesOf, policyIds, rights, surelyMay } from '../programs/permissions.ts';
import { sanePath } from './command-env.ts';

/**
 * The image's environment together with our own settings: ours as we were started, and above it what is only for commands.
 * Made once: what it looks at is the image's and stays as it is. It is part of each start, so nothing here is looked at that need not be.
 */
export function imageEnvironment(own: NodeJS.ProcessEnv, config: Config): NodeJS.ProcessEnv {
  const image: NodeJS.ProcessEnv = { ...own, ...imageEnvIn(own) };
  return { ...pythonCache(config, image['PATH'] ?? sanePath), ...image };
}

/** Below a folder that all may write, and gone with it. */
const cacheFolder = '/tmp/.python-cache';

/**
 * Where Python keeps what it has compiled, if it cannot do that beside the image's modules: it would compile its own modules at
 * every start, which takes five times as long as the start. Not if they are compiled already: Python would leave that
 * unread, and compile all of it once more.
 */
function pythonCache(config: Config, path: string): NodeJS.ProcessEnv {
  const modules = modulesOfPython(path);
  const isFine = modules !== null && (isCompiled(modules) || mayWrite(config, modules));
  return isFine ? {} : { PYTHONPYCACHEPREFIX: cacheFolder };
}

/** Python loads these at each start, before all else. */
const firstModules = 'encodings';

/** Of the Python that commands find first; null if they find none that lies as Pythons do. */
function modulesOfPython(path: string): string | null {
  const found = placesOf('python3', path, '/').find((place) => existsSync(place));
  if (found === undefined) return null;
  const program = realpathSync.native(found);
  const version = basename(program);
  return /^python3\.\d+$/.test(version) ? join(dirname(program), '../lib', version, firstModules) : null;
}

const isCompiled = (modules: string) => existsSync(join(modules, '__pycache__'));

/** By permissions, and by the mount, which no permission shows. */
function mayWrite(config: Config, folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return surelyMay(policyIds(config), folder, rights.write);
  } catch {
    return false;
  }
}
