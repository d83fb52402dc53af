import { constants } from 'node:os';
import { unlessGone } from '#src/calls/rest-of-output.ts';
import type { ProcessEnd } from '#src/protocol/e2b/data.ts';
import type { OutputStream } from '#src/protocol/sandboxd/wire.ts';
import type { CallResult } from '../core-interface.ts';

/*
 * How a call's end reads on a wire that knows only exit codes. What the policy did is a number in any case, and the number is
 * what shells and `timeout` have for it; what the machinery did never comes here.
 *
 *   124   its own time was over
 *   126   nothing ran: no such program or folder, too many at once, the rollout's time is over
 *   137   it was stopped, or its command broke the sandbox
 *   128+n a signal ended it
 */

const timedOut = 124;
const nothingRan = 126;
const stopped = 137;
const bySignal = 128;

export function endOf(result: CallResult): ProcessEnd {
  const exitCode = exitCodeOf(result);
  const exited = result.outcome === 'completed' && result.exitCode !== null;
  const error = [result.timedOut ? 'timed out' : '', cutOf(result)].filter((part) => part !== '').join('; ');
  const status = result.signal === null ? `exit status ${exitCode}` : `signal: ${result.signal}`;
  return { exitCode, exited, status, ...(error === '' ? {} : { error }) };
}

function exitCodeOf({ outcome, exitCode, signal }: CallResult): number {
  switch (outcome) {
    case 'timed_out':
      return timedOut;
    case 'refused':
      return nothingRan;
    case 'cancelled':
      return stopped;
    case 'completed':
      return exitCode ?? (signal === null ? stopped : bySignal + numberOf(signal));
  }
}

function numberOf(signal: string): number {
  const known: Readonly<Record<string, number>> = constants.signals;
  return known[signal] ?? 0;
}

function cutOf({ truncated }: CallResult): string {
  return truncated.stdout || truncated.stderr ? `output was cut: ${truncated.totalBytes} bytes in all` : '';
}

/** One message at a time stays far below what any client takes. */
const pieceBytes = 256 * 1024;

type Data = { readonly stdout: string } | { readonly stderr: string };
type Open = (stream: OutputStream) => Promise<AsyncIterable<Uint8Array> | null>;

/**
 * The streams, and where nothing ran what the model is told, as stderr. `open`: what of them is still in the sandbox, because it
 * is too much for an answer; it passes through here as it comes. What had to make way there for other commands' output, or what its
 * client has no time to read (null), is returned as far as the answer carries it, and as cut: it is the policy that printed so much.
 */
export async function* outputOf(result: CallResult, open: Open): AsyncGenerator<Data> {
  for (const stream of ['stdout', 'stderr'] as const) {
    const isElsewhere = (result.kept?.[stream] ?? 0) > 0;
    const elsewhere = isElsewhere ? await open(stream).catch(unlessGone) : null;
    const bytes = elsewhere ?? [bytesOf(result, stream)];
    for await (const chunk of bytes) yield* piecesOf(stream, Buffer.from(chunk));
    const isCut = result.truncated[stream] || (isElsewhere && elsewhere === null);
    if (isCut) yield* piecesOf(stream, Buffer.from(cutHere(stream)));
  }
}

/** A sandbox of an older sandboxd has the texts only. */
function bytesOf({ outcome, code, output, base64, ...texts }: CallResult, stream: OutputStream): Buffer {
  const isOfCorral = stream === 'stderr' && (outcome === 'refused' || code === 'sandbox_broken');
  if (isOfCorral) return Buffer.from(`${output}\n`);
  return base64 === undefined ? Buffer.from(texts[stream]) : Buffer.from(base64[stream], 'base64');
}

/**
 * The wire has no word for output that was cut, and an exception would be a way out for a policy that prints without end. So
 * whoever reads it is told where it ends.
 */
const cutHere = (stream: OutputStream): string => `\n[${stream} was cut: only its head and tail are above]\n`;

function* piecesOf(stream: OutputStream, bytes: Buffer): Generator<Data> {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const piece = bytes.subarray(at, at + pieceBytes).toString('base64');
    yield stream === 'stdout' ? { stdout: piece } : { stderr: piece };
  }
}
