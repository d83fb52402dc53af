import type { IncomingMessage, ServerResponse } from 'node:http';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ArtifactsRequest, CommandUser, FilePlace, FileReply } from '#src/protocol/sandboxd/wire.ts';
import { Capture } from './command/capture.ts';
import type { StartedProcess } from './command/spawn-as.ts';
import type { Config } from './config.ts';
import type { Daemon } from './daemon.ts';
import { folderOf, type HelperRole } from './helper/helper-process.ts';
import type { AskersTime } from './http/askers-time.ts';
import { parseReply, replyBytes, startHelper } from './helper/run.ts';
import { killTree } from './processes/kill-tree.ts';
import { artifactsOf } from './reading/artifacts.ts';
import { watchShortage, shortageIn } from './reading/shortage.ts';
import { ReadError, type Reader, startReader } from './reading/reader.ts';
import { type ArchiveBounds, tarOut } from './reading/tar-out.ts';
import { sweepAll } from './processes/sweep.ts';
import { WireError } from './wire-error.ts';

/** One file or archive, whatever its size: a client that stopped sending or reading must not keep a helper alive for ever. */
export const longestTransferMs = 600_000;

/** Bytes in, as the user. Throws `file_error` where the path is at fault. */
export async function putFile(
  config: Config,
  place: FilePlace,
  body: IncomingMessage,
  time: AskersTime,
): Promise<FileReply> {
  const task = place.form === 'archive' ? 'tar-in' : 'put';
  return writeIn(config, place.user, [task, place.path], body, time);
}

/** A body for a helper that writes it. Throws `file_error` with what it reports. */
export async function writeIn(
  config: Config,
  user: HelperRole,
  task: readonly string[],
  body: IncomingMessage,
  time: AskersTime,
): Promise<FileReply> {
  const helper = await startHelper(config, user, task, time(longestTransferMs));
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
 * Sends a file or an archive, read with the user's rights. The head is written with the first byte, so an earlier error is a 422. A
 * later one breaks the connection, which the gateway counts as an infrastructure failure. If the sandbox's own shortage ended the
 * reader, that would be wrong: such an archive ends like a complete one, but without its end mark.
 */
export async function getFile(
  config: Config,
  { form, user, path }: FilePlace,
  bounds: ArchiveBounds,
  response: ServerResponse,
  time: AskersTime,
): Promise<void> {
  const at = resolve(folderOf(config, user), path);
  const isArchive = form === 'archive';
  await readOut(config, user, response, {
    isArchive,
    time,
    read: (reader) => (isArchive ? tarOut(reader, at, bounds) : reader.get(at, bounds.mostBytes)),
  });
}

type Reading = {
  /** An archive has an end mark, so its receiver notices if it was cut off. */
  readonly isArchive: boolean;
  readonly time: AskersTime;
  readonly read: (reader: Reader) => AsyncIterable<Uint8Array>;
};

export async function readOut(
  config: Config,
  user: CommandUser,
  response: ServerResponse,
  { isArchive, time, read }: Reading,
): Promise<void> {
  const { orLost, end } = watchShortage(config);
  const isCutOff = (error: unknown) => isArchive && shortageIn(orLost(error)) !== null;
  let reader: Reader | null = null;
  try {
    reader = await startReader(config, user, time);
    const chunks = read(reader)[Symbol.asyncIterator]();
    const first = await chunks.next();
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    const signal = AbortSignal.timeout(longestTransferMs);
    await pipeline(contentOf(first, chunks, isCutOff), response, { signal });
  } catch (thrown) {
    const error = orLost(thrown);
    throw error instanceof ReadError ? new WireError('file_error', error.message, error.code) : error;
  } finally {
    end();
    reader?.close();
  }
}

async function* contentOf(
  first: IteratorResult<Uint8Array>,
  rest: AsyncIterator<Uint8Array>,
  isCutOff: (error: unknown) => boolean,
): AsyncGenerator<Uint8Array> {
  try {
    for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
  } catch (error) {
    if (!isCutOff(error)) throw error;
  }
}

/** Its words are the policy's, as it runs as that: numbers are taken, and nothing else. */
function replyOf(said: string): FileReply {
  const { bytes, entries } = parseReply(said);
  if (typeof bytes !== 'number') throw new WireError('internal', 'the helper did not say how much it wrote');
  return { bytes, ...(typeof entries === 'number' && { entries }) };
}

/**
 * Takes out what a grader elsewhere is to see: after everything of the policy's was killed, so that what is looked at is what
 * is sent, and with its rights, so that nothing is read which the policy could not read itself. It has the sandbox for itself, as
 * a turn of a grader has. Throws `file_error` for what the policy left otherwise than it is named.
 */
export async function takeArtifacts(
  { config, leaders, turns }: Daemon,
  { turn, ...wanted }: ArtifactsRequest,
  response: ServerResponse,
  gone: AbortSignal,
  time: AskersTime,
): Promise<void> {
  const taken = await turns.alone(turn, gone, async () => {
    const { survivors } = await sweepAll(config, leaders);
    if (survivors > 0)
      throw new WireError('file_error', `${survivors} processes could not be killed`, 'EBUSY');
    await readOut(config, 'policy', response, {
      isArchive: true,
      time,
      read: (reader) => artifactsOf(reader, config.workspace, wanted),
    });
    return 'taken';
  });
  if (taken === null) throw new WireError('graded', 'a later turn of the same rollout took over');
}

/*
 * The helper that writes an upload runs as the policy's user, so the policy can stop it. Then the upload would wait until its sender
 * gives up. The helper is killed before that, and the upload fails with the signal as its reason.
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
