import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { CommandUser, FileReply } from '#src/protocol/sandboxd/wire.ts';
import { Capture } from './command/capture.ts';
import type { Config } from './config.ts';
import { parseReply, replyBytes, startHelper } from './helper/run.ts';
import { killTree } from './processes/kill-tree.ts';
import { WireError } from './wire-error.ts';

/** One file, whatever its size: a client that stopped sending or reading must not keep a helper alive for ever. */
const longestTransferMs = 600_000;

/** Bytes in, as the user. Throws `file_error` where the path is at fault. */
export const putFile = (
  config: Config,
  user: CommandUser,
  path: string,
  body: IncomingMessage,
): Promise<FileReply> => bytesIn(config, user, ['put', path], body);

/** The body to a helper, which says how many bytes it wrote. */
export async function bytesIn(
  config: Config,
  user: CommandUser,
  request: readonly string[],
  body: IncomingMessage,
): Promise<FileReply> {
  const helper = await startHelper(config, user, request, longestTransferMs);
  const { child, stdout } = helper.process;
  const said = new Capture(replyBytes);
  stdout.on('data', (chunk: Buffer) => said.push(chunk));
  if (child.stdin !== null) body.pipe(child.stdin);
  try {
    await Promise.race([helper.succeeded, brokenOff(body)]);
    return { bytes: byteCount(said.taken().head.toString('utf8')) };
  } catch (error) {
    // Told, not killed: it removes the part that it has written.
    child.kill('SIGTERM');
    throw error;
  } finally {
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

/** Bytes out, as the user; the answer's head is written with the first of them, so that a fault still is a 422. */
export const getFile = (
  config: Config,
  user: CommandUser,
  path: string,
  response: ServerResponse,
): Promise<void> => bytesOut(config, user, ['get', path], response);

/** What a helper prints. */
export async function bytesOut(
  config: Config,
  user: CommandUser,
  request: readonly string[],
  response: ServerResponse,
): Promise<void> {
  const helper = await startHelper(config, user, request, longestTransferMs);
  try {
    const chunks = helper.process.stdout[Symbol.asyncIterator]();
    const first = await chunks.next();
    if (first.done === true) await helper.succeeded;
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    await pipeline(contentOf(first, chunks, helper.succeeded), response);
  } finally {
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

function byteCount(said: string): number {
  const { bytes } = parseReply(said);
  if (typeof bytes === 'number') return bytes;
  throw new WireError('internal', 'the helper did not say how many bytes it wrote');
}
