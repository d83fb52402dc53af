/**
 * `npm run release`: builds all that is published into `out/release`. Two builds of one commit make equal files.
 * `npm run release -- images chart`: only these parts.
 */
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buildDistribution } from '../distribution/distribution.ts';
import { defaultCacheDir } from '../images/build.ts';
import { repository } from '../payload/repository.ts';
import { buildReleaseImage } from './images/build.ts';
import { releasedImages } from './images/catalogue.ts';
import { readOrigin } from './origin.ts';

const outDir = join(repository, 'out/release');
const cacheDir = defaultCacheDir();
const origin = await readOrigin();
await rm(outDir, { recursive: true, force: true });
await mkdir(outDir, { recursive: true });
const { dir: distribution } = await buildDistribution(cacheDir);
for (const name of releasedImages) {
  const built = await buildReleaseImage(name, {
    origin,
    cacheDir,
    distribution,
    outDir: join(outDir, 'images'),
  });
  console.log(name, built.digest, JSON.stringify(built.bytes));
}
