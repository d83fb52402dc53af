import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Blob, jsonBlob, streamBlob } from './blobs.ts';
import { type Entry, tar } from './tar.ts';

/** How a container of the image starts where nobody says otherwise; the field names are the image format's. */
export type ImageConfig = {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly WorkingDir?: string;
  readonly User?: string;
};

export type Image = {
  /** With a dot in its first part: a name without one would be taken for one of Docker Hub. */
  readonly name: string;
  /** From the lowest to the highest. */
  readonly layers: readonly (readonly Entry[])[];
  readonly config: ImageConfig;
};

/**
 * Writes the image as an OCI archive, which `ctr images import` reads; needs no registry, no daemon and no root. Returns
 * the bytes of each layer. The same entries give the same archive.
 */
export async function writeArchive(image: Image, archive: string): Promise<readonly number[]> {
  await mkdir(dirname(archive), { recursive: true });
  // Beside the archive, where there is room for it, and not in /tmp, which may be memory.
  const folder = await mkdtemp(join(dirname(archive), '.blobs-'));
  try {
    const layers: Blob[] = [];
    for (const entries of image.layers) layers.push(await streamBlob(folder, tar(entries)));
    const config = await jsonBlob(folder, configOf(image, layers));
    const manifest = await jsonBlob(folder, manifestOf(config, layers));
    const entries = archiveEntries([...layers, config, manifest], indexOf(image.name, manifest));
    await pipeline(Readable.from(tar(entries)), createWriteStream(archive));
    return layers.map(({ size }) => size);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const types = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
};

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const platform = { architecture: architectures[process.arch] ?? process.arch, os: 'linux' };

const configOf = ({ config }: Image, layers: readonly Blob[]) => ({
  ...platform,
  config,
  rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
});

const manifestOf = (config: Blob, layers: readonly Blob[]) => ({
  schemaVersion: 2,
  mediaType: types.manifest,
  config: { mediaType: types.config, ...described(config) },
  layers: layers.map((layer) => ({ mediaType: types.layer, ...described(layer) })),
});

const indexOf = (name: string, manifest: Blob) => ({
  schemaVersion: 2,
  manifests: [
    {
      mediaType: types.manifest,
      ...described(manifest),
      platform,
      annotations: { 'io.containerd.image.name': name },
    },
  ],
});

const described = ({ digest, size }: Blob) => ({ digest, size });

const readable = 0o644;

/** Equal blobs, such as two empty layers, are one file. */
function archiveEntries(blobs: readonly Blob[], index: unknown): readonly Entry[] {
  const files = new Map(blobs.map(({ digest, file }) => [digest.replace(':', '/'), file]));
  return [
    { kind: 'text', path: 'oci-layout', mode: readable, text: '{"imageLayoutVersion":"1.0.0"}' },
    { kind: 'text', path: 'index.json', mode: readable, text: JSON.stringify(index) },
    ...[...files].map(([path, source]): Entry => ({
      kind: 'file',
      path: `blobs/${path}`,
      mode: readable,
      source,
    })),
  ];
}
