import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { parseLdd } from '#infra/payload/runtime.ts';
import type { Entry } from '../oci/tar.ts';
import { fileEntry } from './tree.ts';

const run = promisify(execFile);

/** A program of this machine, with its loader and libraries where it looks for them. */
export async function program(path: string, target: string = path.slice(1)): Promise<readonly Entry[]> {
  const source = await realpath(path);
  const { stdout } = await run('ldd', [source]);
  const libraries = parseLdd(stdout).map(async (library) =>
    fileEntry(await realpath(library), library.slice(1), true),
  );
  return [fileEntry(source, target, true), ...(await Promise.all(libraries))];
}
