import { once } from 'node:events';

/** Writes all pieces to stdout, waiting whenever the reader is slower. */
export async function writeOut(pieces: AsyncIterable<string | Uint8Array> | Iterable<string>): Promise<void> {
  for await (const piece of pieces) {
    if (!process.stdout.write(piece)) await once(process.stdout, 'drain');
  }
}
