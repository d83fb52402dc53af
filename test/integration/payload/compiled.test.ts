import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  architectures,
  compileNative,
  compilerFile,
  compilerVersions,
  nativeFile,
} from '#infra/payload/native/compile.ts';
import { nativePrograms } from '#src/protocol/sandboxd/payload-layout.ts';

/*
 * The files that every sandbox runs are in the repository, compiled, and nobody reads those. So they are compiled again here, and
 * compared byte for byte with what is there.
 */

const rebuild =
  'Install the compilers (`sh setup/setup.sh tests`), run `node infra/payload/native/main.ts`, commit its files';

async function advice(): Promise<string> {
  const [recorded, here] = [readFileSync(compilerFile, 'utf8'), await compilerVersions()];
  const other = `made by another compiler than this machine has, which may be all of the difference:\n${recorded}here\n${here}`;
  return `The compiled file differs from its source${recorded === here ? '' : ` or was ${other}`}. ${rebuild}.`;
}

const all = nativePrograms.flatMap((program) =>
  architectures.map((architecture) => ({ program, architecture })),
);

it.each(all)(
  '$program for $architecture is what its source compiles to',
  async ({ program, architecture }) => {
    const compiled = await compileNative(program, architecture);
    const isSame = compiled.equals(readFileSync(nativeFile(program, architecture)));
    expect(isSame, isSame ? '' : await advice()).toBe(true);
  },
);
