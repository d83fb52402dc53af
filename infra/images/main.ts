/**
 * `npm run images`: makes every image as an OCI archive and prints where it is and how large.
 * `npm run images -- --previous` makes those of the previous version, for tests of upgrades.
 * `npm run images -- --payload DIR --distribution DIR` only puts the images' files there, for the Dockerfile.
 */
import { cp } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { buildDistribution } from '../distribution/distribution.ts';
import { buildPayload } from '../payload/payload.ts';
import { buildImage, type BuiltImage, defaultCacheDir } from './build.ts';
import { type ImageName, imageNames } from './catalogue.ts';
import { buildPreviousImages } from './previous.ts';
import { sizeLines } from './sizes.ts';

const { values } = parseArgs({
  options: { payload: { type: 'string' }, distribution: { type: 'string' }, previous: { type: 'boolean' } },
});

const { payload, distribution } = values;
if (payload !== undefined && distribution !== undefined) {
  await cp((await buildPayload(defaultCacheDir())).dir, payload, { recursive: true });
  await cp((await buildDistribution(defaultCacheDir())).dir, distribution, { recursive: true });
} else if (values.previous === true) {
  for (const built of Object.values(await buildPreviousImages())) print(built);
} else {
  for (const name of Object.keys(imageNames) as ImageName[]) print(await buildImage(name));
}

function print(built: BuiltImage): void {
  process.stdout.write(`${sizeLines(built).join('\n')}\n`);
}
