import { Readable } from 'node:stream';
import type { CallAnswer } from '#src/protocol/native/calls.ts';
import type { OpenOutput } from '#src/calls/rest-of-output.ts';
import type { OutputStream } from '#src/protocol/sandboxd/wire.ts';
import type { CallResult } from '../core-interface.ts';

type Streams = Readonly<Record<OutputStream, AsyncIterable<Uint8Array> | null>>;

/**
 * A settled call whose sandbox has kept more of its output than fleet state: the same JSON as ever, with that in its place,
 * written as it comes. Twenty megabytes for each of some hundreds of calls at once would be more than a gateway has.
 * Both streams are open before the first byte is sent, so that what has gone is a failure with a status. Of a sandbox that the policy
 * broke, the JSON has what fleet state has, as cut.
 */
export async function largeAnswer(
  result: CallResult & Required<Pick<CallResult, 'kept'>>,
  open: OpenOutput,
): Promise<Readable> {
  const { kept } = result;
  const wanted = (stream: OutputStream) => (kept[stream] > 0 ? open(stream) : Promise.resolve(null));
  const stdout = await wanted('stdout');
  const stderr = await wanted('stderr').catch(async (failure: unknown) => {
    await letGo(stdout);
    throw failure;
  });
  const truncated = {
    ...result.truncated,
    stdout: result.truncated.stdout || (kept.stdout > 0 && stdout === null),
    stderr: result.truncated.stderr || (kept.stderr > 0 && stderr === null),
  };
  const answer = presentCallResult({ ...result, truncated });
  return Readable.from(pieces(answer, { stdout, stderr }), { objectMode: false });
}

async function letGo(bytes: AsyncIterable<Uint8Array> | null): Promise<void> {
  await bytes?.[Symbol.asyncIterator]().return?.();
}

async function* pieces(answer: CallAnswer, streams: Streams): AsyncGenerator<string> {
  const isBinary = answer.stdout_base64 !== undefined;
  for (const stream of ['stdout', 'stderr'] as const) {
    const name = isBinary ? (`${stream}_base64` as const) : stream;
    const encode = isBinary ? base64Of : textOf;
    yield stream === 'stdout' ? '{' : ',';
    yield `"${name}":"`;
    yield* streams[stream] === null ? [escaped(answer[name] ?? '')] : encode(streams[stream]);
    yield '"';
  }
  const { stdout, stderr, stdout_base64: _out, stderr_base64: _err, ...rest } = answer;
  const texts = isBinary ? { stdout, stderr } : {};
  yield `,${JSON.stringify({ ...texts, ...rest }).slice(1)}`;
}

async function* textOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of bytes) yield escaped(decoder.decode(chunk, { stream: true }));
  yield escaped(decoder.decode());
}

/** Three bytes become four characters: what is left over begins the next piece. */
async function* base64Of(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let left = Buffer.alloc(0);
  for await (const chunk of bytes) {
    const all = Buffer.concat([left, chunk]);
    const whole = all.length - (all.length % 3);
    yield all.toString('base64', 0, whole);
    left = all.subarray(whole);
  }
  yield left.toString('base64');
}

const escaped = (text: string) => JSON.stringify(text).slice(1, -1);

/** A settled call as the native face tells it. */
export function presentCallResult(result: CallResult): CallAnswer {
  return {
    call_id: result.callId,
    outcome: result.outcome,
    code: result.code,
    exit_code: result.exitCode,
    signal: result.signal,
    output: result.output,
    stdout: result.stdout,
    stderr: result.stderr,
    ...(result.base64 && {
      stdout_base64: result.base64.stdout,
      stderr_base64: result.base64.stderr,
    }),
    truncated: {
      stdout: result.truncated.stdout,
      stderr: result.truncated.stderr,
      total_bytes: result.truncated.totalBytes,
    },
    timed_out: result.timedOut,
    oom_killed: result.outOfMemoryKilled,
    duration_ms: result.durationMs,
    waited_ms: result.waitedMs,
    epoch: result.epoch,
    replayed: result.replayed,
  };
}
