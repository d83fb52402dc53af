import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildDistribution } from '../distribution/distribution.ts';
import { repository } from '../payload/repository.ts';
import { buildChart } from './chart.ts';
import { writeChecksums } from './checksums.ts';
import { buildReleaseImage, type ReleasedArchive } from './images/build.ts';
import { releasedImages } from './images/catalogue.ts';
import { leaksHere, leaksIn } from './leaks.ts';
import { nodeBinary } from './node-binary.ts';
import { buildNpm } from './npm.ts';
import { writeOpenapi } from './openapi.ts';
import type { Origin } from './origin.ts';
import { buildPython } from './python.ts';
import { sbom } from './sbom.ts';

export type ReleaseWish = {
  readonly origin: Origin;
  /** Null: images have no registry in their names, and the chart asks for none. */
  readonly registry: string | null;
  readonly outDir: string;
  readonly cacheDir: string;
  readonly say: (line: string) => void;
};

/**
 * Everything that is published:
 *
 *   images/    corral, corral-sandboxd, corral-local, each for all architectures
 *   chart/     as a file, and as an artifact for a registry
 *   python/    wheel and sdist of the client
 *   npm/       the command line with its fleet, and the client
 *   schemas/   of environments, policies and cluster files
 *   openapi.json, sbom.cdx.json, SHA256SUMS
 */
export async function buildRelease({ origin, registry, outDir, cacheDir, say }: ReleaseWish): Promise<void> {
  say(`corral ${origin.version}, ${origin.revision}`);
  await rm(outDir, { recursive: true, force: true });
  await mkdir(outDir, { recursive: true });
  const { dir: distribution } = await buildDistribution(cacheDir);
  await writeOpenapi(distribution, join(outDir, 'openapi.json'));
  await cp(join(repository, 'schemas'), join(outDir, 'schemas'), { recursive: true });
  await buildChart(origin, registry, join(outDir, 'chart'));
  await buildPython(origin, join(outDir, 'python'));
  await buildNpm(origin, distribution, join(outDir, 'npm'));
  const images: ReleasedArchive[] = [];
  for (const name of releasedImages) {
    const wish = { origin, registry, cacheDir, distribution, outDir: join(outDir, 'images') };
    const built = await buildReleaseImage(name, wish);
    images.push(built);
    say(describeImage(built));
  }
  const debian = Object.fromEntries(images.map((image) => [image.name, image.debian]));
  const node = await nodeBinary('x64', cacheDir);
  await writeFile(join(outDir, 'sbom.cdx.json'), await sbom(origin, { debian, node }));
  await refuseLeaks(outDir);
  await writeChecksums(outDir, 'SHA256SUMS');
  say(`all of it is in ${outDir}`);
}

function describeImage({ name, digest, bytes }: ReleasedArchive): string {
  const sizes = Object.entries(bytes).map(
    ([architecture, { base, above }]) =>
      `${architecture} ${megabytes(base + above)} (base ${megabytes(base)}, above ${megabytes(above)})`,
  );
  return `${name}  ${digest}\n  ${sizes.join(', ')}`;
}

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`;

/** Layers of images were looked at one by one, before they were packed together. */
async function refuseLeaks(outDir: string): Promise<void> {
  const leaks = leaksHere(process.env);
  for (const name of await readdir(outDir, { recursive: true })) {
    if (!/\.(?:tgz|tar\.gz|json)$/.test(name)) continue;
    const found = await leaksIn(join(outDir, name), leaks);
    if (found.length > 0) throw new Error(`${name} would publish ${found.join(' and ')}`);
  }
}
