import { once } from 'node:events';

/** Writes all pieces to stdout, waiting whenever the reader is slower. */
export async function writeOut(pieces: AsyncIterable<string | Uint8Array> | Iterable<string>): Promise<void> {
  for await (const piece of pieces) {
    if (!process.stdout.write(piece)) await once(process.stdout, 'drain');
  }
}

/** A path has up to 4 KiB, each byte six characters in JSON: so much of it that what is told stays whole JSON, its errno with it. */
const longestMessage = 500;

/** Tells sandboxd why the path could not be served; the exit code to leave with. */
export function reportErrno(error: unknown): 1 {
  const message = error instanceof Error ? error.message : String(error);
  const errno = error instanceof Error && 'code' in error ? String(error.code) : 'UNKNOWN';
  process.stderr.write(JSON.stringify({ errno, message: message.slice(0, longestMessage) }));
  return 1;
}
