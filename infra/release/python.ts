import { execFile } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { repository } from '../payload/repository.ts';
import { findPython } from '../python/find-python.ts';
import { virtualEnvironment } from '../python/virtual-environment.ts';
import type { Origin } from './origin.ts';

const run = promisify(execFile);

const client = join(repository, 'clients/python');

/** The Python that has what the lock names: build, hatchling and twine. */
export const releasePython = (): string =>
  virtualEnvironment(findPython('3.11'), join(client, 'locks/release.txt'));

/** Wheel and sdist of the Python client, as `twine check` accepts them. */
export async function buildPython({ madeAtS }: Origin, outDir: string): Promise<readonly string[]> {
  const python = releasePython();
  await rm(outDir, { recursive: true, force: true });
  // Hatchling gives every file this time.
  const env = { ...process.env, SOURCE_DATE_EPOCH: String(madeAtS) };
  await run(python, ['-m', 'build', '--no-isolation', '--outdir', outDir, client], { env });
  const files = (await readdir(outDir)).toSorted().map((name) => join(outDir, name));
  await run(python, ['-m', 'twine', 'check', '--strict', ...files]);
  return files;
}
