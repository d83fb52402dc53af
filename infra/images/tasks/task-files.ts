import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { defaultCacheDir } from '../build.ts';

/** A mirror may be slow. */
const mostMs = 15 * 60_000;
const script = join(import.meta.dirname, 'make.sh');

/**
 * The folder with what images of tests' tasks are made of, see `make.sh`. It is kept by a hash of that script, because inside a cluster of
 * tests nothing can be fetched.
 */
export async function taskFiles(cacheDir: string = defaultCacheDir()): Promise<string> {
  const hash = createHash('sha256')
    .update(await readFile(script))
    .update(process.arch);
  const folder = join(cacheDir, `tasks-${hash.digest('hex').slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  await mkdir(cacheDir, { recursive: true });
  const building = await mkdtemp(join(cacheDir, '.tasks-'));
  process.stderr.write(`fetching packages for images of tasks into ${folder}; this takes 2 minutes once\n`);
  try {
    await promisify(execFile)('sh', [script, building], { timeout: mostMs, maxBuffer: 64 * 1024 * 1024 });
    // Another process may have been faster.
    await rename(building, folder).catch(() => undefined);
  } catch (error) {
    const said = error instanceof Error ? error.message.slice(-2000) : String(error);
    throw new Error(
      `${said}\nimages of tasks need root, mmdebstrap, pip, a Debian mirror (MIRROR names another) and PyPI`,
      {
        cause: error,
      },
    );
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return folder;
}
