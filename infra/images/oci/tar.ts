import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';

/** A file of a layer: its path there, without a leading slash, and where its content or its link's target comes from. */
export type Entry =
  | { readonly kind: 'folder'; readonly path: string; readonly mode: number }
  | { readonly kind: 'file'; readonly path: string; readonly mode: number; readonly source: string }
  | { readonly kind: 'text'; readonly path: string; readonly mode: number; readonly text: string }
  | { readonly kind: 'link'; readonly path: string; readonly to: string };

const blockBytes = 512;
const typeFlags = { file: '0', text: '0', link: '2', folder: '5' } as const;

/**
 * A ustar archive, piece by piece. The same entries give the same bytes, whoever packs them and when: everything belongs
 * to user 0, everything was made at the same second, and entries are sorted by path, folders before what is in them.
 */
export async function* tar(entries: readonly Entry[], madeAtS = 0): AsyncGenerator<Uint8Array> {
  for (const entry of entries.toSorted(byPath)) {
    const size = await sizeOf(entry);
    yield header(entry, size, madeAtS);
    yield* contentOf(entry);
    yield Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);
  }
  yield Buffer.alloc(2 * blockBytes);
}

const byPath = (a: Entry, b: Entry): number => (a.path < b.path ? -1 : 1);

async function sizeOf(entry: Entry): Promise<number> {
  if (entry.kind === 'file') return (await stat(entry.source)).size;
  return entry.kind === 'text' ? Buffer.byteLength(entry.text) : 0;
}

async function* contentOf(entry: Entry): AsyncGenerator<Uint8Array> {
  if (entry.kind === 'text') yield Buffer.from(entry.text);
  if (entry.kind === 'file') yield* createReadStream(entry.source, { highWaterMark: 1 << 20 });
}

/** Throws a RangeError where a path is longer than the format has room for. */
export function header(entry: Entry, size: number, madeAtS = 0): Uint8Array {
  const block = Buffer.alloc(blockBytes);
  const [prefix, name] = splitPath(entry.kind === 'folder' ? `${entry.path}/` : entry.path);
  block.write(name, 0);
  block.write(octal(entry.kind === 'link' ? 0o777 : entry.mode, 8), 100);
  block.write(octal(0, 8), 108);
  block.write(octal(0, 8), 116);
  block.write(octal(size, 12), 124);
  block.write(octal(madeAtS, 12), 136);
  // The checksum counts its own field as spaces.
  block.fill(' ', 148, 156);
  block.write(typeFlags[entry.kind], 156);
  if (entry.kind === 'link') block.write(linkTarget(entry.to), 157);
  block.write('ustar\u000000', 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148);
  return block;
}

const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, '0')}\u0000`;

function linkTarget(to: string): string {
  if (Buffer.byteLength(to) <= nameBytes) return to;
  throw new RangeError(`too long for a tar archive: a link to ${to}`);
}

const nameBytes = 100;
const prefixBytes = 155;

/** A long path is cut at a slash: its end is the name, its beginning the prefix. */
function splitPath(path: string): readonly [string, string] {
  if (Buffer.byteLength(path) <= nameBytes) return ['', path];
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    const [prefix, name] = [path.slice(0, slash), path.slice(slash + 1)];
    if (Buffer.byteLength(name) <= nameBytes && name !== '' && Buffer.byteLength(prefix) <= prefixBytes) {
      return [prefix, name];
    }
  }
  throw new RangeError(`too long for a tar archive: ${path}`);
}
