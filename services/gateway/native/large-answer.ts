import { Readable } from 'node:stream';
import type { CallAnswer } from '#src/protocol/native/calls.ts';
import type { OutputStream } from '#src/protocol/sandboxd/wire.ts';
import type { CallResult } from '../core-interface.ts';
import { presentCallResult } from './present-call.ts';

type Streams = Readonly<Record<OutputStream, AsyncIterable<Uint8Array> | null>>;

/**
 * A settled call whose sandbox has kept more of its output than fleet state: the same JSON as ever, with that in its place,
 * written as it comes. Twenty megabytes for each of some hundreds of calls at once would be more than a gateway has.
 * Both streams are open before the first byte is sent, so that what has gone is a failure with a status.
 */
export async function largeAnswer(
  result: CallResult & Required<Pick<CallResult, 'kept'>>,
  open: (stream: OutputStream) => Promise<AsyncIterable<Uint8Array>>,
): Promise<Readable> {
  const { kept } = result;
  const wanted = (stream: OutputStream) => (kept[stream] > 0 ? open(stream) : Promise.resolve(null));
  const stdout = await wanted('stdout');
  const stderr = await wanted('stderr').catch(async (failure: unknown) => {
    await letGo(stdout);
    throw failure;
  });
  return Readable.from(pieces(presentCallResult(result), { stdout, stderr }), { objectMode: false });
}

async function letGo(bytes: AsyncIterable<Uint8Array> | null): Promise<void> {
  await bytes?.[Symbol.asyncIterator]().return?.();
}

async function* pieces(answer: CallAnswer, streams: Streams): AsyncGenerator<string> {
  const { stdout, stderr, ...rest } = answer;
  yield JSON.stringify(rest).slice(0, -1);
  yield* member('stdout', stdout, streams.stdout);
  yield* member('stderr', stderr, streams.stderr);
  yield '}';
}

async function* member(
  name: OutputStream,
  text: string,
  bytes: AsyncIterable<Uint8Array> | null,
): AsyncGenerator<string> {
  yield `,"${name}":"`;
  if (bytes === null) yield escaped(text);
  else {
    const decoder = new TextDecoder();
    for await (const chunk of bytes) yield escaped(decoder.decode(chunk, { stream: true }));
    yield escaped(decoder.decode());
  }
  yield '"';
}

const escaped = (text: string) => JSON.stringify(text).slice(1, -1);
