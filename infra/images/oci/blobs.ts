import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** A piece of an image, in a file that is named by its own hash. */
export type Blob = { readonly digest: string; readonly size: number; readonly file: string };

/** Writes what the source yields; a layer may be larger than memory. */
export async function streamBlob(folder: string, source: AsyncIterable<Uint8Array>): Promise<Blob> {
  const hash = createHash('sha256');
  let size = 0;
  const counted = async function* () {
    for await (const piece of source) {
      hash.update(piece);
      size += piece.length;
      yield piece;
    }
  };
  const unnamed = join(folder, 'unnamed');
  await pipeline(Readable.from(counted()), createWriteStream(unnamed));
  const hex = hash.digest('hex');
  const file = join(folder, hex);
  await rename(unnamed, file);
  return { digest: `sha256:${hex}`, size, file };
}

export async function jsonBlob(folder: string, value: unknown): Promise<Blob> {
  const bytes = Buffer.from(JSON.stringify(value));
  const hex = createHash('sha256').update(bytes).digest('hex');
  const file = join(folder, hex);
  await writeFile(file, bytes);
  return { digest: `sha256:${hex}`, size: bytes.length, file };
}
