import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { bareImage, corralImage, demoImage, type ImageName, redisImage, sandboxdImage } from './catalogue.ts';
import { keepNewest } from './keep-newest.ts';
import { type Image, writeArchive } from './oci/archive.ts';
import type { Entry } from './oci/tar.ts';

/** An image as a file that a node imports. */
export type BuiltImage = {
  readonly name: string;
  readonly archive: string;
  /** From the lowest to the highest, as they lie on a node's disk. */
  readonly layerBytes: readonly number[];
};

export function defaultCacheDir(): string {
  return join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'corral');
}

const makers: Readonly<Record<ImageName, (cacheDir: string) => Promise<Image>>> = {
  corral: corralImage,
  sandboxd: sandboxdImage,
  bare: bareImage,
  demo: demoImage,
  redis: redisImage,
};

/** Of each image, and of payloads: two checkouts that take turns, and one whose archive is about to be imported. */
const kept = 3;

/**
 * The image's archive below `cacheDir`, or where it is already: its name holds a hash of everything that went in. It is
 * written beside and renamed, so builders may race. A new one takes the place of the oldest.
 */
export async function buildImage(
  which: ImageName,
  cacheDir: string = defaultCacheDir(),
): Promise<BuiltImage> {
  await mkdir(cacheDir, { recursive: true });
  const image = await makers[which](cacheDir);
  return keptArchive(cacheDir, { which, key: await keyOf(image), name: image.name }, async () => image);
}

type Kept = {
  /** Which of our images, in the name of the file. */
  readonly which: string;
  /** A hash of all that goes in. */
  readonly key: string;
  readonly name: string;
};

/** The archive of that key; `make` is asked for the image where there is none yet. */
export async function keptArchive(
  cacheDir: string,
  { which, key, name }: Kept,
  make: () => Promise<Image>,
): Promise<BuiltImage> {
  const archive = join(cacheDir, `image-${which}-${key}.tar`);
  const sizes = `${archive}.json`;
  if (!(await isThere(sizes))) {
    const building = `${archive}.${process.pid}`;
    const layerBytes = await writeArchive({ ...(await make()), name }, building);
    await rename(building, archive);
    await writeFile(building, JSON.stringify(layerBytes));
    await rename(building, sizes);
    await Promise.all(
      [`image-${which}-`, 'payload-', 'distribution-'].map((prefix) => keepNewest(cacheDir, prefix, kept)),
    );
  }
  return { name, archive, layerBytes: JSON.parse(await readFile(sizes, 'utf8')) as number[] };
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/**
 * Files count by their size and time of change, not by their content: 60 MB of packages would be read for nothing.
 * Whoever changes a file and sets its clock back gets the old image.
 */
async function keyOf({ layers, config, name }: Image): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify({ name, config }));
  for (const line of await Promise.all(layers.flat().map(lineOf))) hash.update(line);
  return hash.digest('hex').slice(0, 16);
}

async function lineOf(entry: Entry): Promise<string> {
  if (entry.kind !== 'file') return JSON.stringify(entry);
  const { size, mtimeMs } = await stat(entry.source);
  return JSON.stringify({ ...entry, size, mtimeMs });
}
