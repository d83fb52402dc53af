/**
 * `npm run images`: makes every image as an OCI archive and prints where it is and how large.
 * `npm run images -- --payload DIR` only puts the payload's files there, for the Dockerfile.
 */
import { cp } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { buildPayload } from '../payload/payload.ts';
import { buildImage, defaultCacheDir } from './build.ts';
import { imageNames } from './catalogue.ts';
import type { ImageName } from './catalogue.ts';
import { sizeLines } from './sizes.ts';

const { values } = parseArgs({ options: { payload: { type: 'string' } } });

if (values.payload === undefined) {
  for (const name of Object.keys(imageNames) as ImageName[]) {
    const built = await buildImage(name);
    process.stdout.write(`${sizeLines(built).join('\n')}\n`);
  }
} else {
  const { dir } = await buildPayload(defaultCacheDir());
  await cp(dir, values.payload, { recursive: true });
}
