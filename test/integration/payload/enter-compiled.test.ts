import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  architectures,
  compiledFile,
  compileProgram,
  compilerFile,
  compilerVersions,
  programs,
} from '#infra/payload/enter/compile.ts';

/*
 * The files that every sandbox runs are in the repository, compiled, and nobody reads those. So they are compiled again here, and
 * compared byte for byte with what is there.
 */

const rebuild =
  'Install the compilers (`sh setup/setup.sh tests`), run `node infra/payload/enter/main.ts`, commit its files';

async function advice(): Promise<string> {
  const [recorded, here] = [readFileSync(compilerFile, 'utf8'), await compilerVersions()];
  const other = `made by another compiler than this machine has, which may be all of the difference:\n${recorded}here\n${here}`;
  return `The compiled file differs from its source${recorded === here ? '' : ` or was ${other}`}. ${rebuild}.`;
}

const files = programs.flatMap((program) =>
  architectures.map((architecture) => [program, architecture] as const),
);

it.each(files)('%s for %s is what its source compiles to', async (program, architecture) => {
  const compiled = await compileProgram(program, architecture);
  const isSame = compiled.equals(readFileSync(compiledFile(program, architecture)));
  expect(isSame, isSame ? '' : await advice()).toBe(true);
});
