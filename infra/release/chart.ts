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

/** The chart, whose images come from `registry`; null: from the one that its values name. */
export async function buildChart(
  origin: Origin,
  registry: string | null,
  outDir: string,
): Promise<ChartFiles> {
  const { version, madeAtS } = origin;
  const about = await chartFile(registry);
  await mkdir(outDir, { recursive: true });
  const packed = join(outDir, `corral-${version}.tgz`);
  const entries = tar(layer(await chartEntries(about)), madeAtS);
  await pipeline(Readable.from(entries), createGzip(), createWriteStream(packed));
  const archive = join(outDir, `corral-chart-${version}.oci.tar`);
  await writeArtifact(packed, archive, { about, origin });
  return { packed, archive };
}

async function chartEntries(about: string): Promise<readonly Entry[]> {
  // As `.helmignore` has it: values of tests.
  const files = (await tree(chart, 'corral')).filter(({ path }) => !/^corral\/(?:ci(?:\/|$)|\.)/.test(path));
  return [...files, { kind: 'text', path: 'corral/Chart.yaml', mode: 0o644, text: about }];
}

/** Chart.yaml. Templates read its annotation, so `global.imageRegistry` stays free for mirrors, and for images that are not published with the chart. */
async function chartFile(registry: string | null): Promise<string> {
  const text = await readFile(join(chart, 'Chart.yaml'), 'utf8');
  if (registry === null) return text;
  return `${text}annotations:\n  corral.dev/registry: ${JSON.stringify(registry)}\n`;
}

type About = { readonly about: string; readonly origin: Origin };

async function writeArtifact(packed: string, archive: string, { about, origin }: About): Promise<void> {
  const { version, madeAtS } = origin;
  const metadata = parse(about) as Readonly<Record<string, unknown>>;
  await inFolderNextTo(archive, async (folder) => {
    const config = await jsonBlob(folder, metadata);
    const content = await bytesBlob(folder, await readFile(packed));
    const manifest = await jsonBlob(folder, {
      schemaVersion: 2,
      mediaType: types.manifest,
      config: { mediaType: helmTypes.config, ...described(config) },
      layers: [{ mediaType: helmTypes.content, ...described(content) }],
      annotations: {
        'org.opencontainers.image.title': String(metadata['name']),
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
