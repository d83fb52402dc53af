import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGunzip } from 'node:zlib';

const run = promisify(execFile);

type Described = { readonly digest: string; readonly platform?: { readonly architecture: string } };
type Config = { readonly config: { readonly Labels: Readonly<Record<string, string>> } };

export type UnpackedImage = {
  /** Folder with its files. */
  readonly root: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Unpacked, from the lowest layer to the highest. */
  readonly layerBytes: readonly number[];
};

/** Unpacks an OCI archive of several architectures into `folder`; by architecture, as registries name it. */
export async function unpackImage(
  archive: string,
  folder: string,
): Promise<ReadonlyMap<string, UnpackedImage>> {
  const layout = join(folder, 'layout');
  await mkdir(layout, { recursive: true });
  await run('tar', ['-xf', archive, '-C', layout]);
  const blob = ({ digest }: Described) => join(layout, 'blobs', digest.replace(':', '/'));
  const json = async <Content>(file: string) => JSON.parse(await readFile(file, 'utf8')) as Content;
  const {
    manifests: [index],
  } = await json<{ manifests: readonly Described[] }>(join(layout, 'index.json'));
  if (index === undefined) throw new Error(`${archive} names no image`);
  const { manifests } = await json<{ manifests: readonly Described[] }>(blob(index));
  const images = new Map<string, UnpackedImage>();
  for (const described of manifests) {
    const architecture = described.platform?.architecture ?? '';
    const { config, layers } = await json<{ config: Described; layers: readonly Described[] }>(
      blob(described),
    );
    const root = join(folder, architecture);
    const layerBytes: number[] = [];
    for (const layer of layers) layerBytes.push(await unpackLayer(blob(layer), root));
    const {
      config: { Labels: labels },
    } = await json<Config>(blob(config));
    images.set(architecture, { root, labels, layerBytes });
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
