import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { parseLdd } from '../../payload/runtime.ts';
import type { Entry } from '../oci/tar.ts';
import { fileEntry } from './tree.ts';

const run = promisify(execFile);

/** This process's own Node where images have it, with the loader and libraries where it looks for them. */
export async function nodeRuntime(): Promise<readonly Entry[]> {
  const node = await realpath(process.execPath);
  const { stdout } = await run('ldd', [node]);
  const libraries = parseLdd(stdout).map(async (library) =>
    fileEntry(await realpath(library), library.slice(1), true),
  );
  return [fileEntry(node, 'usr/local/bin/node', true), ...(await Promise.all(libraries))];
}
