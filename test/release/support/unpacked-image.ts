import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';

const run = promisify(execFile);

const json = async <Content>(file: string) => JSON.parse(await readFile(file, 'utf8')) as Content;

type Described = { readonly digest: string; readonly platform?: { readonly architecture: string } };
type Config = { readonly config: { readonly Labels: Readonly<Record<string, string>> } };

/** `file` is the packed layer, `bytes` its unpacked size. */
type Layer = { readonly file: string; readonly bytes: number };

export type UnpackedImage = {
  /** Folder with the image's files. */
  readonly root: string;
  readonly labels: Readonly<Record<string, string>>;
  /** From the lowest layer to the highest. */
  readonly layers: readonly Layer[];
};

/** Unpacks an OCI archive of several architectures into `folder`. The keys are architectures, as registries name them. */
export async function unpackImage(
  archive: string,
  folder: string,
): Promise<ReadonlyMap<string, UnpackedImage>> {
  const layout = join(folder, 'layout');
  await mkdir(layout, { recursive: true });
  await run('tar', ['-xf', archive, '-C', layout]);
  const blob = ({ digest }: Described) => join(layout, 'blobs', digest.replace(':', '/'));
  const {
    manifests: [index],
  } = await json<{ manifests: readonly Described[] }>(join(layout, 'index.json'));
  if (index === undefined) throw new Error(`${archive} names no image`);
  const { manifests } = await json<{ manifests: readonly Described[] }>(blob(index));
  const images = new Map<string, UnpackedImage>();
  for (const described of manifests) {
    const architecture = described.platform?.architecture ?? '';
    const manifest = await json<{ config: Described; layers: readonly Described[] }>(blob(described));
    const root = join(folder, architecture);
    const layers: Layer[] = [];
    for (const file of manifest.layers.map(blob)) layers.push({ file, bytes: await unpackLayer(file, root) });
    const {
      config: { Labels: labels },
    } = await json<Config>(blob(manifest.config));
    images.set(architecture, { root, labels, layers });
  }
  return images;
}

async function unpackLayer(file: string, root: string): Promise<number> {
  await mkdir(root, { recursive: true });
  const unpacking = spawn('tar', ['-xpf', '-', '-C', root], { stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = once(unpacking, 'exit');
  let bytes = 0;
  const count = async function* (pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      bytes += piece.length;
      yield piece;
    }
  };
  await pipeline(createReadStream(file), createGunzip(), count, unpacking.stdin);
  const [code] = (await ended) as [number | null];
  if (code !== 0) throw new Error(`tar refused a layer: ${file}`);
  return bytes;
}
