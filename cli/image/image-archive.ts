import { closeSync, createReadStream, openSync, readSync } from 'node:fs';
import { posix } from 'node:path';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { readTar, TarError } from '#src/protocol/sandboxd/tar.ts';

/** An image as `docker save` or an OCI layout has it, in one tar. */
export type ImageArchive = {
  /** Its configuration, as JSON. */
  readonly config: string;
  /** From the lowest. */
  readonly layers: readonly ImageLayer[];
};

export type ImageLayer = {
  /** As it lies in the archive. */
  readonly bytes: number;
  /** The tar that it is. */
  open(): Readable;
};

/** Something in an archive of images. */
type Part = { readonly at: number; readonly bytes: number; readonly link: string | null };
type Archive = { readonly file: string; readonly parts: ReadonlyMap<string, Part> };

/** Finds the image in an archive. Throws `TarError` if the file is not such an archive, or has several images. */
export async function openImageArchive(file: string): Promise<ImageArchive> {
  if (formatAt(file, { at: 0, bytes: magicBytes, link: null }) !== 'plain')
    throw new TarError('it is compressed as a whole: decompress it first (gunzip, zstd -d)');
  const archive = { file, parts: await partsOf(file) };
  const { config, layers } = archive.parts.has('manifest.json') ? savedImage(archive) : ociImage(archive);
  return {
    config: textAt(archive, config),
    layers: layers.map((name) => {
      const part = partAt(archive, name);
      return { bytes: part.bytes, open: () => openPart(file, part) };
    }),
  };
}

/** Places in an archive. */
type Places = { readonly config: string; readonly layers: readonly string[] };

async function partsOf(file: string): Promise<Archive['parts']> {
  const parts = new Map<string, Part>();
  for await (const { path, kind, at, bytes, target } of readTar(
    createReadStream(file, { highWaterMark: 1024 * 1024 }),
  )) {
    const name = posix.normalize(path);
    if (kind === 'file') parts.set(name, { at, bytes, link: null });
    // Older archives link a layer that two images share.
    if (kind === 'link') parts.set(name, { at, bytes, link: posix.join(posix.dirname(name), target ?? '') });
  }
  return parts;
}

/** `manifest.json`, as Docker and others write it. */
function savedImage(archive: Archive): Places {
  const images = listOf(jsonAt(archive, 'manifest.json'), 'manifest.json');
  const { Config, Layers } = fieldsOf(onlyOne(images, namesOfSaved(images)), 'manifest.json');
  const layers = listOf(Layers, 'Layers').map((layer) => posix.normalize(textOf(layer, 'Layers')));
  return { config: posix.normalize(textOf(Config, 'Config')), layers };
}

const namesOfSaved = (images: readonly unknown[]) =>
  images.flatMap((image) => fieldsOf(image, 'manifest.json')['RepoTags'] ?? []).map(String);

/** An index may list other indexes, one per architecture. Real images nest two. */
const mostIndexes = 4;

/** `index.json`, as the OCI's image layout has it. */
function ociImage(archive: Archive): Places {
  if (!archive.parts.has('index.json'))
    throw new TarError('it has neither a manifest.json nor an index.json, and so no image');
  let value = jsonAt(archive, 'index.json');
  for (let depth = 0; depth < mostIndexes; depth += 1) {
    const { manifests, config, layers } = fieldsOf(value, 'a manifest');
    if (manifests === undefined) {
      return { config: blobOf(config), layers: listOf(layers, 'layers').map(blobOf) };
    }
    value = jsonAt(archive, blobOf(chosen(listOf(manifests, 'manifests'))));
  }
  throw new TarError('its indexes have no end');
}

/** Names of architectures in images. */
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** The only one, or the one for this machine. Build attestations have the platform `unknown` and do not count. */
function chosen(manifests: readonly unknown[]): unknown {
  const images = manifests.filter((each) => platformOf(each)['os'] !== 'unknown');
  if (images.length <= 1) return onlyOne(images, []);
  const ours = images.filter((each) => platformOf(each)['architecture'] === architectures[process.arch]);
  return onlyOne(ours.length === 0 ? images : ours, images.map(nameOf));
}

const platformOf = (manifest: unknown) => {
  const { platform } = fieldsOf(manifest, 'a manifest');
  return fieldsOf(platform ?? {}, 'a platform');
};

function nameOf(manifest: unknown): string {
  const { digest, annotations } = fieldsOf(manifest, 'a manifest');
  const name = fieldsOf(annotations ?? {}, 'annotations')['org.opencontainers.image.ref.name'];
  return String(name ?? digest);
}

/** The path of a descriptor's content in the archive. */
function blobOf(descriptor: unknown): string {
  const digest = textOf(fieldsOf(descriptor, 'a descriptor')['digest'], 'digest');
  if (!/^sha(?:256|512):[a-f0-9]{64,128}$/.test(digest))
    throw new TarError(`${digest} in it is not a digest`);
  return `blobs/${digest.replace(':', '/')}`;
}

function onlyOne(images: readonly unknown[], names: readonly string[]): unknown {
  if (images.length === 1) return images[0];
  const told = names.length === 0 ? '' : `: ${names.slice(0, 8).join(', ')}`;
  throw new TarError(`it has ${images.length} images${told}; save one alone`);
}

/** A configuration with its history has some kilobytes. */
const mostJsonBytes = 16 * 1024 * 1024;

function textAt(archive: Archive, name: string): string {
  const { at, bytes } = partAt(archive, name);
  if (bytes > mostJsonBytes) throw new TarError(`${name} in it has ${bytes} bytes`);
  return bytesAt(archive.file, at, bytes).toString('utf8');
}

function jsonAt(archive: Archive, name: string): unknown {
  try {
    return JSON.parse(textAt(archive, name));
  } catch (error) {
    if (error instanceof TarError) throw error;
    throw new TarError(`${name} in it is not JSON`, { cause: error });
  }
}

function partAt({ parts }: Archive, name: string): Part {
  const part = parts.get(name);
  const found = part?.link == null ? part : parts.get(part.link);
  if (found?.link === null) return found;
  throw new TarError(`it lacks ${name}, which its manifest names`);
}

const magicBytes = 4;

/** By its first bytes: a name or a media type may say something else. */
function formatAt(file: string, { at, bytes }: Part): 'plain' | 'gzip' | 'zstd' {
  const magic = bytesAt(file, at, Math.min(magicBytes, bytes)).toString('hex');
  if (magic.startsWith('1f8b')) return 'gzip';
  return magic === '28b52ffd' ? 'zstd' : 'plain';
}

function openPart(file: string, part: Part): Readable {
  const { at, bytes } = part;
  if (bytes === 0) throw new TarError('a layer in it is empty');
  const packed = createReadStream(file, { start: at, end: at + bytes - 1, highWaterMark: 256 * 1024 });
  switch (formatAt(file, part)) {
    case 'plain':
      return packed;
    case 'gzip':
      return through(packed, createGunzip());
    case 'zstd':
      return through(packed, createZstdDecompress());
  }
}

/** An error of either stream is an error of the returned one. */
function through(packed: Readable, unpacking: Transform): Readable {
  pipeline(packed, unpacking, () => undefined);
  return unpacking;
}

function bytesAt(file: string, at: number, bytes: number): Buffer {
  const fd = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(bytes);
    return buffer.subarray(0, readSync(fd, buffer, 0, bytes, at));
  } finally {
    closeSync(fd);
  }
}

function listOf(value: unknown, name: string): readonly unknown[] {
  if (Array.isArray(value)) return value as readonly unknown[];
  throw new TarError(`${name} in it is not a list`);
}

function fieldsOf(value: unknown, name: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new TarError(`${name} in it is not an object`);
}

function textOf(value: unknown, name: string): string {
  if (typeof value === 'string') return value;
  throw new TarError(`${name} in it is not a text`);
}
