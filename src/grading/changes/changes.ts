import { type ChangesHead, maxChangedPathBytes } from '#src/protocol/sandboxd/wire.ts';
import { endOfTar, tarHeader, tarPadding } from '#src/protocol/sandboxd/tar.ts';

/** What a policy made of the folders that its image has, as it is written into another sandbox of that image. */
export type Changes = {
  /** Absolute; a folder goes with all that is in it. Before anything is written. */
  readonly removed: readonly string[];
  /** Folders before what is in them. */
  readonly written: readonly Written[];
  /** What the policy left there and no sandbox gets, for a person: links that lead out, devices, unreadable files. At most some. */
  readonly leftOut: readonly string[];
};

export type Written = {
  readonly path: string;
  readonly kind: 'file' | 'folder' | 'link';
  readonly mode: number;
  /** As the policy left it: what is built from it is built again. */
  readonly mtimeS: number;
  /** Of a file. */
  readonly bytes: Buffer;
  /** Of a link. */
  readonly target?: string;
};

/** What of them is in memory. */
export const changedBytes = ({ removed, written }: Changes): number =>
  removed.reduce((sum, path) => sum + Buffer.byteLength(path), 0) +
  written.reduce((sum, { path, bytes }) => sum + Buffer.byteLength(path) + bytes.length, 0);

/** As sandboxd reads it: a line of JSON, then a tar. */
export async function* bodyOf({
  removed,
  written,
}: Pick<Changes, 'removed' | 'written'>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${JSON.stringify({ removed } satisfies ChangesHead)}\n`);
  yield* tarOfChanges(written);
}

export async function* tarOfChanges(written: readonly Written[]): AsyncGenerator<Uint8Array> {
  for (const { path, kind, mode, mtimeS, bytes, target } of written) {
    const to = target === undefined ? {} : { target };
    yield tarHeader({ path, kind, mode, mtimeS, bytes: bytes.length, ...to });
    yield bytes;
    yield tarPadding(bytes.length);
  }
  yield endOfTar;
}

export const mostPathBytes = maxChangedPathBytes;
