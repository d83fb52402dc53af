import type { Failure } from './errors.ts';
import { isCount, isObject, NotCorral, readCall, readFailure } from './results.ts';
import type { Opened } from './transport.ts';
import type { Json } from './writing.ts';

/** The events of a followed command, read from the gateway's stream. */

type Place = { readonly stream: 'stdout' | 'stderr'; readonly at: number };

/** What a command printed, at its offset in the stream. */
export type Output = Place & { readonly kind: 'output'; readonly data: Uint8Array };

/** So many bytes from this offset on are no longer kept: they were read too late. */
export type Gap = Place & { readonly kind: 'gap'; readonly size: number };

/** `end`: the command has ended, and all of its output was sent. `alive`: a sign of life, or what a newer fleet says. */
export type Happened =
  | Output
  | Gap
  | { readonly kind: 'end' }
  | { readonly kind: 'alive' }
  | { readonly kind: 'error'; readonly failure: Failure };

/** An event has a piece of 64 KiB, or a result without its streams. */
const longestEvent = 4 * 1024 * 1024;

/** Throws {@link NotCorral} for what is not an event. A stream that ends without `end` or `error` just ends here: it broke off. */
export async function* readEvents({ chunks }: Pick<Opened, 'chunks'>): AsyncGenerator<Happened> {
  const decoder = new TextDecoder();
  let unread = '';
  for await (const chunk of chunks) {
    const texts = (unread + decoder.decode(chunk, { stream: true })).split('\n\n');
    unread = texts.pop() ?? '';
    if (unread.length > longestEvent) throw new NotCorral('an event without end');
    for (const text of texts) yield readEvent(text);
  }
}

function readEvent(text: string): Happened {
  const field = (name: string) =>
    text
      .split('\n')
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2) ?? '';
  switch (field('event')) {
    case 'output':
      return readOutput(dataIn(field('data')));
    case 'gap':
      return readGap(dataIn(field('data')));
    case 'end':
      readCall(dataIn(field('data')));
      return { kind: 'end' };
    case 'error':
      return { kind: 'error', failure: readFailure(dataIn(field('data'))) };
    default:
      return { kind: 'alive' };
  }
}

function dataIn(text: string): Json {
  let data: unknown = null;
  try {
    data = JSON.parse(text) as unknown;
  } catch {
    // Said below.
  }
  if (isObject(data)) return data;
  throw new NotCorral('the data of an event is not a JSON object');
}

function readOutput(data: Json): Output {
  const { base64 } = data;
  if (typeof base64 !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64) || base64.length % 4 !== 0)
    throw new NotCorral('the output of an event is not base64');
  return { kind: 'output', ...readPlace(data), data: new Uint8Array(Buffer.from(base64, 'base64')) };
}

function readGap(data: Json): Gap {
  return { kind: 'gap', ...readPlace(data), size: countIn(data, 'bytes') };
}

function readPlace(data: Json): Place {
  const { stream } = data;
  if (stream !== 'stdout' && stream !== 'stderr')
    throw new NotCorral(`${String(stream)} is not a stream of a command`);
  return { stream, at: countIn(data, 'at') };
}

function countIn(data: Json, name: string): number {
  const value = data[name];
  if (isCount(value)) return value;
  throw new NotCorral(`an event has no "${name}"`);
}
