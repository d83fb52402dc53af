import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';

/** A piece of an image, in a file that is named by its own hash. */
export type Blob = { readonly digest: string; readonly size: number; readonly file: string };

/** A layer's piece, with what it is once unpacked. */
export type LayerBlob = Blob & { readonly diffId: string; readonly unpackedBytes: number };

/** Writes what the source yields; a layer may be larger than memory. */
export async function layerBlob(
  folder: string,
  source: AsyncIterable<Uint8Array>,
  gzip: boolean,
): Promise<LayerBlob> {
  const [plain, packed] = [createHash('sha256'), createHash('sha256')];
  let [unpackedBytes, size] = [0, 0];
  const plainPieces = async function* () {
    for await (const piece of source) {
      plain.update(piece);
      unpackedBytes += piece.length;
      yield piece;
    }
  };
  const packedPieces = async function* (pieces: AsyncIterable<Uint8Array>) {
    for await (const piece of pieces) {
      packed.update(piece);
      size += piece.length;
      yield piece;
    }
  };
  const unnamed = join(folder, 'unnamed');
  const packing = gzip ? createGzip() : new PassThrough();
  await pipeline(Readable.from(plainPieces()), packing, packedPieces, createWriteStream(unnamed));
  const hex = packed.digest('hex');
  const file = join(folder, hex);
  await rename(unnamed, file);
  return { digest: `sha256:${hex}`, size, file, diffId: `sha256:${plain.digest('hex')}`, unpackedBytes };
}

export async function bytesBlob(folder: string, bytes: Uint8Array): Promise<Blob> {
  const hex = createHash('sha256').update(bytes).digest('hex');
  const file = join(folder, hex);
  await writeFile(file, bytes);
  return { digest: `sha256:${hex}`, size: bytes.length, file };
}

export const jsonBlob = (folder: string, value: unknown): Promise<Blob> =>
  bytesBlob(folder, Buffer.from(JSON.stringify(value)));
