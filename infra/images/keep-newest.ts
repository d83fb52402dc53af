import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Removes what is older than the `kept` newest of those whose names begin with `prefix`. Files count as one when they
 * differ only after their first dot: an archive, its sizes, and what a builder that was killed has left beside it.
 */
export async function keepNewest(folder: string, prefix: string, kept: number): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix));
  const files = await Promise.all(
    names.map(async (name) => ({ name, changedMs: await changedMs(join(folder, name)) })),
  );
  const newestFirst = Object.values(Object.groupBy(files, ({ name }) => name.replace(/\..*$/, '')))
    .map((together = []) => ({ together, changedMs: Math.max(...together.map((file) => file.changedMs)) }))
    .toSorted((one, other) => other.changedMs - one.changedMs);
  const old = newestFirst.slice(kept).flatMap(({ together }) => together);
  await Promise.all(old.map(({ name }) => rm(join(folder, name), { recursive: true, force: true })));
}

/** 0 where somebody else has removed it meanwhile. */
const changedMs = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
