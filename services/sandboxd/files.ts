import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { ArtifactsRequest, CommandUser, FilePlace, FileReply } from '#src/protocol/sandboxd/wire.ts';
import { Capture } from './command/capture.ts';
import type { StartedProcess } from './command/spawn-as.ts';
import type { Config } from './config.ts';
import type { Daemon } from './daemon.ts';
import { parseReply, replyBytes, startHelper } from './helper/run.ts';
import { killTree } from './processes/kill-tree.ts';
import { sweepAll } from './processes/sweep.ts';
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
async function bytesOut(
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

/**
 * Takes out what a grader elsewhere is to see: after everything of the policy's was killed, so that what is looked at is what
 * is sent, and by a helper that is its user, so that nothing is read which the policy could not read itself. It has the
 * sandbox for itself, as a turn of a grader has. Throws `file_error` for what the policy left otherwise than it is named.
 *
 * A sandbox may be filled so that the helper has the memory to look at everything and not to send it. That is the policy's doing
 * too, so it is no broken connection, after which one asks again until there is no time left: the archive ends without its end mark.
 */
export async function takeArtifacts(
  { config, leaders, turns }: Daemon,
  { turn, ...wanted }: ArtifactsRequest,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const taken = await turns.alone(turn, gone, async () => {
    const { survivors } = await sweepAll(config, leaders);
    if (survivors > 0)
      throw new WireError('file_error', `${survivors} processes could not be killed`, 'EBUSY');
    await bytesOut(config, 'policy', ['take-artifacts', JSON.stringify(wanted)], response, isWant);
    return 'taken';
  });
  if (taken === null) throw new WireError('graded', 'a later turn of the same rollout took over');
}

const isWant = (error: unknown) =>
  error instanceof WireError && (error.errno === 'ENOMEM' || error.errno?.startsWith('SIG') === true);

/*
 * A helper runs as the policy's user, which may stop it; then a transfer would stand until whoever asked for it gives up, and that
 * looks like a failure of ours: a way out of a low score. Killed in time it is told as what it is.
 */

/** All in all, so that a helper that is let go on now and then is no way around it; half of what a transfer may take. */
const mostStalledMs = 300_000;
const lookEveryMs = 1_000;

/**
 * Kills a helper once it has kept its transfer waiting for so long. `isItsTurn`: whether nobody else does, for who sends or reads
 * slowly is no doing of the policy's. Returns how to stop looking.
 */
export function killWhenStalled(
  { pid, child }: Pick<StartedProcess, 'pid' | 'child'>,
  isItsTurn: () => boolean,
  [mostMs, everyMs] = [mostStalledMs, lookEveryMs],
): () => void {
  let stalledMs = 0;
  const looking = setInterval(() => {
    if (child.exitCode !== null || child.signalCode !== null) return clearInterval(looking);
    if (isItsTurn()) stalledMs += everyMs;
    if (stalledMs < mostMs) return;
    clearInterval(looking);
    void killTree(pid);
  }, everyMs);
  return () => clearInterval(looking);
}
