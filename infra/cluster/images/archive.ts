import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../machine/run.ts';

export type Image = {
  /** With a dot in its first part: a name without one would be taken for one of Docker Hub. */
  readonly name: string;
  /** Folder that becomes the root file system. */
  readonly rootFolder: string;
  readonly command: readonly string[];
};

type Blob = { readonly digest: string; readonly size: number };

const types = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
};

/** Writes an OCI archive of one layer, as `ctr images import` reads it; needs neither a registry nor a daemon. */
export async function writeArchive(image: Image, archive: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-image-'));
  try {
    await mkdir(join(folder, 'blobs/sha256'), { recursive: true });
    const layer = await addBlob(folder, await packed(image.rootFolder, join(folder, 'layer.tar')));
    const config = await addBlob(folder, jsonBytes(configOf(image, layer)));
    const manifest = await addBlob(folder, jsonBytes(manifestOf(config, layer)));
    await writeFile(join(folder, 'oci-layout'), jsonBytes({ imageLayoutVersion: '1.0.0' }));
    await writeFile(join(folder, 'index.json'), jsonBytes(indexOf(image.name, manifest)));
    await run(['tar', '-C', folder, '-cf', archive, 'oci-layout', 'index.json', 'blobs']);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const architecture = architectures[process.arch] ?? process.arch;

const configOf = ({ command }: Image, layer: Blob) => ({
  architecture,
  os: 'linux',
  config: { Cmd: command, Env: ['PATH=/bin'] },
  rootfs: { type: 'layers', diff_ids: [layer.digest] },
});

const manifestOf = (config: Blob, layer: Blob) => ({
  schemaVersion: 2,
  mediaType: types.manifest,
  config: { mediaType: types.config, ...config },
  layers: [{ mediaType: types.layer, ...layer }],
});

const indexOf = (name: string, manifest: Blob) => ({
  schemaVersion: 2,
  manifests: [
    {
      mediaType: types.manifest,
      ...manifest,
      platform: { architecture, os: 'linux' },
      annotations: { 'io.containerd.image.name': name },
    },
  ],
});

/** The same folder gives the same bytes, whoever packs it and when. */
async function packed(rootFolder: string, file: string): Promise<Buffer> {
  const same = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  await run(['tar', ...same, '-C', rootFolder, '-cf', file, '.']);
  const bytes = await readFile(file);
  await rm(file);
  return bytes;
}

async function addBlob(folder: string, bytes: Buffer): Promise<Blob> {
  const hash = createHash('sha256').update(bytes).digest('hex');
  await writeFile(join(folder, 'blobs/sha256', hash), bytes);
  return { digest: `sha256:${hash}`, size: bytes.length };
}

const jsonBytes = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
