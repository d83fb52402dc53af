import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type Blob, jsonBlob, type LayerBlob, layerBlob } from './blobs.ts';
import { type Entry, tar } from './tar.ts';

/** How a container of the image starts where nobody says otherwise; the field names are the image format's. */
export type ImageConfig = {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly WorkingDir?: string;
  readonly User?: string;
  readonly Labels?: Readonly<Record<string, string>>;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly Volumes?: Readonly<Record<string, object>>;
};

export type Image = {
  /** With a dot in its first part: a name without one would be taken for one of Docker Hub. */
  readonly name: string;
  /** From the lowest to the highest. */
  readonly layers: readonly (readonly Entry[])[];
  readonly config: ImageConfig;
  /** As Node names it; default: this machine's. */
  readonly architecture?: string;
};

/** Of everything in an archive. */
export type Packing = {
  /** When it was made, in seconds. */
  readonly madeAtS: number;
  readonly gzip: boolean;
};

export const types = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
};

/** What a node imports at once, from this machine to this machine. */
const plain: Packing = { madeAtS: 0, gzip: false };

/**
 * Writes the image as an OCI archive, which `ctr images import` reads; needs no registry, no daemon and no root. Returns
 * the bytes of each layer. The same entries give the same archive.
 */
export async function writeArchive(image: Image, archive: string): Promise<readonly number[]> {
  return inFolderNextTo(archive, async (folder) => {
    const { layers, blobs, manifest } = await writeImage(folder, image, plain);
    const annotations = { 'io.containerd.image.name': image.name };
    await writeLayout(archive, { manifest: { ...manifest, annotations }, blobs }, plain);
    return layers.map(({ size }) => size);
  });
}

export async function inFolderNextTo<Result>(
  archive: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  await mkdir(dirname(archive), { recursive: true });
  // Beside the archive, where there is room for it, and not in /tmp, which may be memory.
  const folder = await mkdtemp(join(dirname(archive), '.blobs-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export type Descriptor = {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly platform?: Platform;
  readonly annotations?: Readonly<Record<string, string>>;
};

type WrittenImage = {
  readonly layers: readonly LayerBlob[];
  readonly blobs: readonly Blob[];
  readonly manifest: Descriptor;
};

/** The blobs of one image for one architecture. */
export async function writeImage(folder: string, image: Image, packing: Packing): Promise<WrittenImage> {
  const layers: LayerBlob[] = [];
  for (const entries of image.layers)
    layers.push(await layerBlob(folder, tar(entries, packing.madeAtS), packing.gzip));
  const platform = platformOf(image);
  const config = await jsonBlob(folder, configOf(image, platform, layers, packing));
  const manifest = await jsonBlob(folder, manifestOf(config, layers, packing));
  return {
    layers,
    blobs: [...layers, config, manifest],
    manifest: { mediaType: types.manifest, ...described(manifest), platform },
  };
}

type Platform = { readonly architecture: string; readonly os: string };

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

const platformOf = ({ architecture = process.arch }: Image): Platform => ({
  architecture: architectures[architecture] ?? architecture,
  os: 'linux',
});

const configOf = (
  { config }: Image,
  platform: Platform,
  layers: readonly LayerBlob[],
  { madeAtS }: Packing,
) => ({
  created: new Date(madeAtS * 1000).toISOString(),
  ...platform,
  config,
  rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
});

const manifestOf = (config: Blob, layers: readonly Blob[], { gzip }: Packing) => ({
  schemaVersion: 2,
  mediaType: types.manifest,
  config: { mediaType: types.config, ...described(config) },
  layers: layers.map((layer) => ({ mediaType: `${types.layer}${gzip ? '+gzip' : ''}`, ...described(layer) })),
});

export const described = ({ digest, size }: Blob) => ({ digest, size });

type Layout = {
  /** What `index.json` names. */
  readonly manifest: Descriptor;
  readonly blobs: readonly Blob[];
};

const readable = 0o644;

/** Writes blobs as an OCI archive. Equal blobs, such as two empty layers, are one file. */
export async function writeLayout(
  archive: string,
  { manifest, blobs }: Layout,
  { madeAtS }: Packing,
): Promise<void> {
  const index = { schemaVersion: 2, mediaType: types.index, manifests: [manifest] };
  const files = new Map(blobs.map(({ digest, file }) => [digest.replace(':', '/'), file]));
  const entries: readonly Entry[] = [
    { kind: 'text', path: 'oci-layout', mode: readable, text: '{"imageLayoutVersion":"1.0.0"}' },
    { kind: 'text', path: 'index.json', mode: readable, text: JSON.stringify(index) },
    ...[...files].map(([path, source]): Entry => ({
      kind: 'file',
      path: `blobs/${path}`,
      mode: readable,
      source,
    })),
  ];
  await pipeline(Readable.from(tar(entries, madeAtS)), createWriteStream(archive));
}
