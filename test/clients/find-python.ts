import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A Python that can make virtual environments. */
export type Python = { readonly program: string; readonly version: string };

/** The oldest first: what works there works in the newer ones, and not the other way round. */
const wanted = ['3.11', '3.12', '3.13', '3.14'];

/** Version and whether virtual environments can be made; Debian leaves `ensurepip` to a package of its own. */
const question = 'import sys, venv, ensurepip; print("%d.%d.%d" % sys.version_info[:3])';

/** The first of PATH and pyenv that the client supports; throws an error that says what to install. */
export function findPython(): Python {
  for (const program of [...onPath(), ...ofPyenv()]) {
    const version = versionOf(program);
    if (version !== null && isSupported(version)) return { program, version };
  }
  throw new Error(
    'the Python client needs Python 3.11 or newer with venv, and neither PATH nor pyenv has one: ' +
      'install python3.11 and python3.11-venv (Debian), or "pyenv install 3.11"',
  );
}

const onPath = () => [...wanted.map((version) => `python${version}`), 'python3'];

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

function isSupported(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major === 3 && minor >= 11;
}
