import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A Python that can make virtual environments. */
export type Python = { readonly program: string; readonly version: string };

/** The oldest first: what works there works in the newer ones, and not the other way round. */
const known = [11, 12, 13, 14];

/** Version and whether virtual environments can be made; Debian leaves `ensurepip` to a package of its own. */
const question = 'import sys, venv, ensurepip; print("%d.%d.%d" % sys.version_info[:3])';

/** The first of PATH and pyenv that is not older; throws an error that says what to install. */
export function findPython(oldest: `3.${number}`): Python {
  const least = Number(oldest.slice(2));
  for (const program of [...onPath(least), ...ofPyenv()]) {
    const version = versionOf(program);
    if (version !== null && isAtLeast(least, version)) return { program, version };
  }
  throw new Error(
    `this needs Python ${oldest} or newer with venv, and neither PATH nor pyenv has one: ` +
      `install python${oldest} and python${oldest}-venv (Debian), or "pyenv install ${oldest}"`,
  );
}

const onPath = (least: number) => [
  ...known.filter((minor) => minor >= least).map((minor) => `python3.${minor}`),
  'python3',
];

function ofPyenv(): string[] {
  const folder = join(process.env['PYENV_ROOT'] ?? join(homedir(), '.pyenv'), 'versions');
  const versions = existsSync(folder) ? readdirSync(folder).sort() : [];
  return versions.map((version) => join(folder, version, 'bin/python3'));
}

/** Null where there is no such program, or only pyenv's placeholder for one. */
function versionOf(program: string): string | null {
  try {
    return execFileSync(program, ['-c', question], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}

function isAtLeast(least: number, version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major === 3 && minor >= least;
}
