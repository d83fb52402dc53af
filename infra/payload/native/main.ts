/**
 * Writes what is made from the C sources and from the rules for system calls: the headers, a compiled file of each program for each
 * architecture, and the compilers' versions. Needs gcc for both, which `sh setup/setup.sh tests` installs.
 */
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  architectures,
  compileNative,
  compilerFile,
  compilerVersions,
  headers,
  nativeFile,
  nativeFolder,
} from './compile.ts';
import { nativePrograms } from '#src/protocol/sandboxd/payload-layout.ts';

const programMode = 0o755;

for (const [name, text] of Object.entries(headers())) await writeFile(join(nativeFolder, name), text);
for (const program of nativePrograms) {
  for (const architecture of architectures) {
    const file = nativeFile(program, architecture);
    await writeFile(file, await compileNative(program, architecture));
    await chmod(file, programMode);
  }
}
await writeFile(compilerFile, await compilerVersions());
