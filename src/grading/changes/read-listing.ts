import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { LinkError } from '#src/ports/sandbox-link.ts';
import type { ListingLine } from '#src/protocol/sandboxd/wire.ts';
import { brokenProtocol } from '../run-command-grader.ts';

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
      Type.Tuple([Type.Literal('end')]),
      Type.Tuple([Type.Literal('error'), Type.String(), Type.String()]),
    ]),
  ),
);

/** An entry of a sandbox's listing. */
export type Listed = Exclude<ListingLine, readonly ['end'] | readonly ['error', string, string]>;

/** A line is a path or two in JSON. */
const longestLine = 128 * 1024;

/**
 * The entries of a listing. Throws a refusal of sandboxd for what kept it from going on, as of a request that was refused, `maybe_sent` for a
 * listing that was cut off, and `unclassified` for one that cannot be read.
 */
export async function* readListing(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Listed> {
  for await (const text of linesIn(chunks)) {
    const line = parse(text);
    if (line[0] === 'end') return;
    if (line[0] === 'error') throw refused(line[1], line[2]);
    yield line;
  }
  throw new LinkError({ kind: 'maybe_sent', detail: 'a listing was cut off' });
}

function parse(text: string): ListingLine {
  const value: unknown = parseJson(text);
  if (Line.Check(value)) return value;
  throw brokenProtocol('its sandboxd sent a listing that cannot be read');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const refused = (errno: string, message: string) =>
  new LinkError({ kind: 'refused', status: 422, code: 'file_error', errno, message });

async function* linesIn(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    if (rest.length > longestLine) throw brokenProtocol('a line of its listing does not end');
    yield* lines;
  }
}
