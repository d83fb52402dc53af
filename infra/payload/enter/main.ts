/**
 * Writes what is made from the C sources and from the rules for system calls: the headers, a compiled file for each program and
 * architecture, and the compilers' versions. Needs gcc for both, which `sh setup/setup.sh tests` installs.
 */
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  architectures,
  compiledFile,
  compileProgram,
  compilerFile,
  compilerVersions,
  enterFolder,
  headers,
  programs,
} from './compile.ts';

const programMode = 0o755;

for (const [name, text] of Object.entries(headers())) await writeFile(join(enterFolder, name), text);
for (const program of programs) {
  for (const architecture of architectures) {
    const file = compiledFile(program, architecture);
    await writeFile(file, await compileProgram(program, architecture));
    await chmod(file, programMode);
  }
}
await writeFile(compilerFile, await compilerVersions());
