import { createWriteStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { parse } from 'yaml';
import { layer, tree } from '#infra/images/contents/tree.ts';
import { described, inFolderNextTo, types, writeLayout } from '#infra/images/oci/archive.ts';
import { bytesBlob, jsonBlob } from '#infra/images/oci/blobs.ts';
import { type Entry, tar } from '#infra/images/oci/tar.ts';
import { repository } from '../payload/repository.ts';
import type { Origin } from './origin.ts';

const chart = join(repository, 'charts/corral');

/** As Helm has it in registries. */
const helmTypes = {
  config: 'application/vnd.cncf.helm.config.v1+json',
  content: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
};

export type ChartFiles = {
  /** For `helm install FILE`. */
  readonly packed: string;
  /** For a registry. */
  readonly archive: string;
};

/** The chart, whose images come from `registry`; null: from the registry that a node asks first. */
export async function buildChart(
  origin: Origin,
  registry: string | null,
  outDir: string,
): Promise<ChartFiles> {
  const { version, madeAtS } = origin;
  await mkdir(outDir, { recursive: true });
  const packed = join(outDir, `corral-${version}.tgz`);
  const entries = tar(layer(await chartEntries(registry)), madeAtS);
  await pipeline(Readable.from(entries), createGzip(), createWriteStream(packed));
  const archive = join(outDir, `corral-chart-${version}.oci.tar`);
  await writeArtifact(packed, archive, origin);
  return { packed, archive };
}

async function chartEntries(registry: string | null): Promise<readonly Entry[]> {
  // As `.helmignore` has it: values of tests.
  const files = (await tree(chart, 'corral')).filter(({ path }) => !/^corral\/(?:ci(?:\/|$)|\.)/.test(path));
  if (registry === null) return files;
  const values = await readFile(join(chart, 'values.yaml'), 'utf8');
  return [
    ...files,
    { kind: 'text', path: 'corral/values.yaml', mode: 0o644, text: withRegistry(values, registry) },
  ];
}

const unsetRegistry = "  imageRegistry: ''\n";

/** Throws if the chart has no place for it any more. */
export function withRegistry(values: string, registry: string): string {
  if (!values.includes(unsetRegistry))
    throw new Error(`charts/corral/values.yaml has no line ${unsetRegistry.trim()}`);
  return values.replace(unsetRegistry, `  imageRegistry: ${JSON.stringify(registry)}\n`);
}

async function writeArtifact(packed: string, archive: string, { version, madeAtS }: Origin): Promise<void> {
  const about = parse(await readFile(join(chart, 'Chart.yaml'), 'utf8')) as Readonly<Record<string, unknown>>;
  await inFolderNextTo(archive, async (folder) => {
    const config = await jsonBlob(folder, about);
    const content = await bytesBlob(folder, await readFile(packed));
    const manifest = await jsonBlob(folder, {
      schemaVersion: 2,
      mediaType: types.manifest,
      config: { mediaType: helmTypes.config, ...described(config) },
      layers: [{ mediaType: helmTypes.content, ...described(content) }],
      annotations: {
        'org.opencontainers.image.title': String(about['name']),
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.created': new Date(madeAtS * 1000).toISOString(),
      },
    });
    const named = { mediaType: types.manifest, ...described(manifest) };
    const annotations = { 'org.opencontainers.image.ref.name': version };
    await writeLayout(
      archive,
      { manifest: { ...named, annotations }, blobs: [config, content, manifest] },
      { madeAtS, gzip: true },
    );
  });
}
