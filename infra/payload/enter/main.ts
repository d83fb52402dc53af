/**
 * Writes what is made from `enter.c` and from the rules for system calls: the header, a compiled file for each architecture, and
 * the compilers' versions. Needs gcc for both, which `sh setup/setup.sh tests` installs.
 */
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  architectures,
  compileEnter,
  compilerFile,
  compilerVersions,
  enterFile,
  enterFolder,
  filterHeader,
} from './compile.ts';

const programMode = 0o755;

await writeFile(join(enterFolder, 'filter.h'), filterHeader());
for (const architecture of architectures) {
  await writeFile(enterFile(architecture), await compileEnter(architecture));
  await chmod(enterFile(architecture), programMode);
}
await writeFile(compilerFile, await compilerVersions());
