import { access, chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder that holds what was built, and the hash of all that went in. */
export type Built = { readonly dir: string; readonly key: string };

type Work = {
  readonly name: string;
  /** A hash of all that goes in; short, because it becomes part of the folder's name. */
  readonly key: string;
  readonly build: (dir: string) => Promise<unknown>;
};

/**
 * Builds into a folder of its own below `targetDir`, or finds it there by its key. It is built beside and renamed, so builders may
 * race, and a process that runs keeps the files that it was started with.
 */
export async function publishOnce(targetDir: string, { name, key, build }: Work): Promise<Built> {
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

/** A sandbox's users read what is built here, and so may another user's fleet. */
const openToAll = 0o755;

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
