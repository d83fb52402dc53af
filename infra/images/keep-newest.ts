import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Removes what is older than the `kept` newest of those whose names begin with `prefix`. Files count as one when they
 * differ only after their first dot: an archive, its sizes, and what a builder that was killed has left beside it.
 */
export async function keepNewest(folder: string, prefix: string, kept: number): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix));
  const newestFirst = Object.entries(Object.groupBy(await Promise.all(names.map(dated(folder))), stemOf))
    .map(([, files = []]) => ({ files, changedMs: Math.max(...files.map((file) => file.changedMs)) }))
    .toSorted((one, other) => other.changedMs - one.changedMs);
  const old = newestFirst.slice(kept).flatMap(({ files }) => files);
  await Promise.all(old.map(({ name }) => rm(join(folder, name), { recursive: true, force: true })));
}

type Dated = { readonly name: string; readonly changedMs: number };

const stemOf = ({ name }: Dated): string => name.replace(/\..*$/, '');

/** Somebody else may have removed it meanwhile. */
const dated =
  (folder: string) =>
  async (name: string): Promise<Dated> => ({
    name,
    changedMs: await stat(join(folder, name)).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    ),
  });
