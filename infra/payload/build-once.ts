import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { access, chmod, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { VERSION as bundlerVersion } from 'rolldown';
import { repository } from './repository.ts';

/** A folder that holds what was built, and the hash of all that went in. */
export type Built = { readonly dir: string; readonly key: string };

/**
 * Builds into a folder of its own below `targetDir`, or finds it there: its name ends in a hash of `sources` (patterns of files
 * of the repository), this machine's kind, Node's version and the bundler's. It is built beside and renamed, so builders may
 * race, and a process that runs keeps the files that it was started with.
 */
export async function buildOnce(targetDir: string, { name, sources, build }: Recipe): Promise<Built> {
  const key = await keyOf(sources);
  const dir = join(targetDir, `${name}-${key}`);
  if (!(await exists(dir))) {
    await mkdir(targetDir, { recursive: true });
    const building = await mkdtemp(join(targetDir, '.building-'));
    try {
      await chmod(building, openToAll);
      await build(building);
      await publish(building, dir);
    } finally {
      await rm(building, { recursive: true, force: true });
    }
  }
  return { dir, key };
}

type Recipe = {
  readonly name: string;
  readonly sources: readonly string[];
  readonly build: (dir: string) => Promise<unknown>;
};

/** A sandbox's users read what is built here, and so may another user's fleet. */
const openToAll = 0o755;

/** Short, since it becomes part of a folder's name. */
async function keyOf(sources: readonly string[]): Promise<string> {
  const machine = `${process.version} ${process.platform} ${process.arch}`;
  const hash = createHash('sha256').update(`${machine} ${bundlerVersion}`);
  for (const file of globSync(sources, { cwd: repository, exclude: ['**/*.test.ts'] }).toSorted()) {
    hash.update(`\0${file}\0`).update(await readFile(`${repository}/${file}`));
  }
  return hash.digest('hex').slice(0, 16);
}

async function publish(building: string, dir: string): Promise<void> {
  try {
    await rename(building, dir);
  } catch (error) {
    // Another builder was faster, and what it built has the same content.
    if (!(await exists(dir))) throw error;
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
