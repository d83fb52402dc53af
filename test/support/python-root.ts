import { cp, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { addProgram } from './busybox-root.ts';

/** Packages of the standard library that Python needs to start, and `json`. Modules that are one file are all copied. */
const packages = ['collections', 'encodings', 'importlib', 'json', 're'];

const ask = (what: string) =>
  execFileSync('/usr/bin/python3', ['-c', `import os, sys; print(${what})`], { encoding: 'utf8' }).trim();

/** Puts this machine's Python, with as much of its library as small programs need, below `prefix` of a root. Returns its path there. */
export async function addPython(root: string, prefix: string): Promise<string> {
  const program = ask('os.path.realpath(sys.executable)');
  const library = ask('os.path.dirname(os.__file__)');
  const at = join(root, prefix, 'lib', ask("f'python{sys.version_info[0]}.{sys.version_info[1]}'"));
  await addProgram(root, program);
  await mkdir(join(root, prefix, 'bin'), { recursive: true });
  await cp(join(root, program), join(root, prefix, 'bin/python'));
  await mkdir(join(at, 'site-packages'), { recursive: true });
  await mkdir(join(at, 'lib-dynload'));
  const modules = (await readdir(library)).filter((name) => name.endsWith('.py'));
  for (const name of [...modules, ...packages])
    await cp(join(library, name), join(at, name), {
      recursive: true,
      filter: (file) => !file.includes('__pycache__'),
    });
  return join('/', prefix, 'bin/python');
}
