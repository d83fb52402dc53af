/**
 * `npm run release`: builds all that is published into `out/release`. Two builds of one commit on one machine make equal files.
 * `npm run release -- --publish`: copies the images and the chart that are there to the registry that CORRAL_REGISTRY names.
 */
import { parseArgs } from 'node:util';
import { join } from 'node:path';
import { defaultCacheDir } from '../images/build.ts';
import { repository } from '../payload/repository.ts';
import { buildRelease } from './build-release.ts';
import { readOrigin } from './origin.ts';
import { publish } from './publish.ts';

const { values } = parseArgs({ options: { publish: { type: 'boolean' }, out: { type: 'string' } } });
/** Host and path below which everything is, such as registry.example.com/team; without it, images have no registry in their names. */
const registry = process.env['CORRAL_REGISTRY']?.replace(/\/+$/, '') || null;
const outDir = values.out ?? join(repository, 'out/release');
const origin = await readOrigin();
const say = (line: string) => void process.stdout.write(`${line}\n`);

try {
  if (values.publish !== true)
    await buildRelease({ origin, registry, outDir, cacheDir: defaultCacheDir(), say });
  else if (registry !== null) await publish({ origin, registry, outDir, say });
  else
    throw new Error('set CORRAL_REGISTRY to the registry to publish to, such as registry.example.com/team');
} catch (error) {
  process.stderr.write(`release: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
