import { posix } from 'node:path';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { LinkError } from '#src/ports/sandbox-link.ts';
import { comparePaths } from '#src/protocol/sandboxd/compare-paths.ts';
import type { ListingLine } from '#src/protocol/sandboxd/wire.ts';

const Path = Type.String({ pattern: '^/', maxLength: 8_192 });
const Mode = Type.Integer({ minimum: 0, maximum: 0o7777 });
const Sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Bytes = Type.Integer({ minimum: 0 });
const Kind = Type.Union([
  Type.Literal('root'),
  Type.Literal('closed'),
  Type.Literal('folder'),
  Type.Literal('other'),
]);

const Line = Compile(
  Type.Unsafe<ListingLine>(
    Type.Union([
      Type.Tuple([Type.Literal('file'), Path, Mode, Bytes, Sha256]),
      Type.Tuple([Kind, Path, Mode]),
      Type.Tuple([Type.Literal('link'), Path, Type.String({ maxLength: 8_192 })]),
      Type.Tuple([Type.Literal('homes'), Type.Array(Path, { maxItems: 16 })]),
      Type.Tuple([Type.Literal('end')]),
      Type.Tuple([Type.Literal('error'), Type.String(), Type.String()]),
    ]),
  ),
);

/** An entry of a sandbox's listing. */
export type Listed = Exclude<
  ListingLine,
  readonly ['end'] | readonly ['homes', readonly string[]] | readonly ['error', string, string]
>;

/** No sandboxd sends it. `message`: what is wrong. */
export class BadListing extends Error {}

export type Listing = { readonly homes: readonly string[]; readonly entries: AsyncIterable<Listed> };

/**
 * Reads the homes of a listing. Its entries throw a refusal of sandboxd for what kept it from going on, as of a request that was refused,
 * `maybe_sent` for a listing that was cut off, and {@link BadListing}.
 */
export async function readListing(chunks: AsyncIterable<Uint8Array>): Promise<Listing> {
  const lines = linesIn(chunks);
  const { value } = await lines.next();
  if (value?.[0] === 'homes') return { homes: value[1], entries: entriesOf(lines) };
  await lines.return(undefined);
  throw value === undefined ? cutOff() : new BadListing('it does not begin with homes');
}

async function* entriesOf(lines: AsyncIterable<ListingLine>): AsyncGenerator<Listed> {
  const walk = new Walk();
  for await (const line of lines) {
    if (line[0] === 'end') return;
    if (line[0] === 'error') throw refused(line[1], line[2]);
    if (line[0] === 'homes') throw new BadListing('homes are among its entries');
    walk.check(line);
    yield line;
  }
  throw cutOff();
}

/** What is compared line by line must come as a walk comes by. */
class Walk {
  readonly #open: string[] = [];
  #last = '';

  check([kind, path]: Listed): void {
    while (!path.startsWith(`${this.#open.at(-1) ?? ''}/`)) this.#open.pop();
    const parent = this.#open.at(-1);
    const isInPlace = kind === 'root' ? parent === undefined : parent === posix.dirname(path);
    if (!isInPlace || posix.normalize(path) !== path || comparePaths(this.#last, path) >= 0)
      throw new BadListing(`${path} is not in its place`);
    this.#last = path;
    if (kind === 'root' || kind === 'folder') this.#open.push(path);
  }
}

const cutOff = () => new LinkError({ kind: 'maybe_sent', detail: 'a listing was cut off' });

const refused = (errno: string, message: string) =>
  new LinkError({ kind: 'refused', status: 422, code: 'file_error', errno, message });

/** A line is a path or two in JSON. */
const longestLine = 128 * 1024;

async function* linesIn(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ListingLine, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > longestLine) throw new BadListing('a line does not end');
    for (const line of lines) yield parse(line);
  }
}

function parse(text: string): ListingLine {
  const value: unknown = parseJson(text);
  if (Line.Check(value)) return value;
  throw new BadListing('a line cannot be read');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
