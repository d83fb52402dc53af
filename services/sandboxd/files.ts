import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { CommandUser, FilePlace, FileReply } from '#src/protocol/sandboxd/wire.ts';
import { Capture } from './command/capture.ts';
import type { Config } from './config.ts';
import { parseReply, replyBytes, startHelper } from './helper/run.ts';
import { killWhenStalled } from './helper/stalled.ts';
import { killTree } from './processes/kill-tree.ts';
import { WireError } from './wire-error.ts';

/** One file or archive, whatever its size: a client that stopped sending or reading must not keep a helper alive for ever. */
const longestTransferMs = 600_000;

/** Bytes in, as the user. Throws `file_error` where the path is at fault. */
export async function putFile(config: Config, place: FilePlace, body: IncomingMessage): Promise<FileReply> {
  const task = place.form === 'archive' ? 'tar-in' : 'put';
  const helper = await startHelper(config, place.user, [task, place.path], longestTransferMs);
  const { child, stdout } = helper.process;
  const said = new Capture(replyBytes);
  stdout.on('data', (chunk: Buffer) => said.push(chunk));
  if (child.stdin !== null) body.pipe(child.stdin);
  const stopLooking = killWhenStalled(
    helper.process,
    () => body.readableEnded || child.stdin?.writableNeedDrain === true,
  );
  try {
    await Promise.race([helper.succeeded, brokenOff(body)]);
    return replyOf(said.taken().head.toString('utf8'));
  } catch (error) {
    // Told, not killed: it removes the part that it has written.
    child.kill('SIGTERM');
    throw error;
  } finally {
    stopLooking();
    body.unpipe();
    helper.release();
  }
}

/** Rejects when the client goes away before its last byte. */
function brokenOff(body: IncomingMessage): Promise<never> {
  return new Promise((_resolve, reject) => {
    body.once('close', () => {
      if (!body.complete) reject(new WireError('invalid_request', 'the upload broke off'));
    });
  });
}

/**
 * Bytes out, as the user; the answer's head is written with the first of them, so that a fault still is a 422. A file that fails
 * after that is a broken connection. An archive then ends without its end mark: what stopped our helper in there was the
 * sandbox's own doing, and a connection that breaks is the machinery's.
 */
export async function getFile(
  config: Config,
  place: FilePlace,
  mostBytes: number,
  response: ServerResponse,
): Promise<void> {
  const isArchive = place.form === 'archive';
  const request = [isArchive ? 'tar-out' : 'get', place.path, String(mostBytes)];
  return bytesOut(config, place.user, request, response, () => isArchive);
}

/** What a helper prints. `mayBreakOff`: whether the answer ends as if it were whole when the helper fails so after its first byte. */
export async function bytesOut(
  config: Config,
  user: CommandUser,
  request: readonly string[],
  response: ServerResponse,
  mayBreakOff: (error: unknown) => boolean,
): Promise<void> {
  const helper = await startHelper(config, user, request, longestTransferMs);
  const { stdout } = helper.process;
  const stopLooking = killWhenStalled(
    helper.process,
    () => stdout.readableLength === 0 && !response.writableNeedDrain,
  );
  try {
    const chunks = stdout[Symbol.asyncIterator]();
    const first = await chunks.next();
    if (first.done === true) await helper.succeeded;
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    const over = helper.succeeded.catch((error: unknown) => {
      if (!mayBreakOff(error)) throw error;
    });
    over.catch(() => {}); // Awaited when all bytes were sent; until then it is not unhandled.
    await pipeline(contentOf(first, chunks, over), response);
  } finally {
    stopLooking();
    await killTree(helper.process.pid);
    helper.release();
  }
}

/** The bytes, and a failure after the first of them as a broken answer rather than a complete one. */
async function* contentOf(
  first: IteratorResult<Buffer>,
  rest: AsyncIterableIterator<Buffer>,
  succeeded: Promise<void>,
): AsyncIterable<Buffer> {
  if (first.done !== true) yield first.value;
  yield* rest;
  await succeeded;
}

/** Its words are the policy's, as it runs as that: numbers are taken, and nothing else. */
function replyOf(said: string): FileReply {
  const { bytes, entries } = parseReply(said);
  if (typeof bytes !== 'number') throw new WireError('internal', 'the helper did not say how much it wrote');
  return { bytes, ...(typeof entries === 'number' && { entries }) };
}
