import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { CommandUser, FileReply } from '../../src/protocol/sandboxd/wire.ts';
import { Capture } from './command/capture.ts';
import { NotStarted } from './command/spawn-as.ts';
import type { StartedProcess } from './command/spawn-as.ts';
import { spawnWhenAble } from './command/spawn-when-able.ts';
import type { Config } from './config.ts';
import { helperProcess } from './helper/launch.ts';
import { killTree } from './processes/kill-tree.ts';
import { WireError } from './wire-error.ts';

/** One file, whatever its size: a client that stopped sending or reading must not keep a helper alive for ever. */
const longestTransferMs = 600_000;
/** Starting Node takes a tenth of a second; a sandbox in which it takes so long is not ready. */
const longestProbeMs = 20_000;
/** A helper's own words: an error or a byte count. It runs as the policy's user, so they are not to be trusted. */
const replyBytes = 4096;

/** Bytes in, as the user. Throws `file_error` where the path is at fault. */
export async function putFile(
  config: Config,
  user: CommandUser,
  path: string,
  body: IncomingMessage,
): Promise<FileReply> {
  const helper = await startHelper(config, user, ['put', path]);
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
export async function getFile(
  config: Config,
  user: CommandUser,
  path: string,
  response: ServerResponse,
): Promise<void> {
  const helper = await startHelper(config, user, ['get', path]);
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

/** Starts the no-op that a ready sandbox must answer. Throws `internal`. */
export async function probe(config: Config): Promise<void> {
  const helper = await startHelper(config, 'policy', ['probe']);
  try {
    helper.process.stdout.resume();
    await helper.succeeded;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new WireError('internal', `commands cannot work in this sandbox: ${reason}`);
  } finally {
    helper.release();
  }
}

type Helper = {
  readonly process: StartedProcess;
  /** Rejects with `file_error` for what the helper reports, or when something in the sandbox killed it. */
  readonly succeeded: Promise<void>;
  readonly release: () => void;
};

async function startHelper(config: Config, user: CommandUser, request: readonly string[]): Promise<Helper> {
  const stdin = request[0] === 'put' ? 'pipe' : 'nothing';
  const started = await spawnWhenAble({ ...helperProcess(config, user, request), stdin }).catch(
    (error: unknown) => {
      throw error instanceof NotStarted ? new WireError('internal', `no helper: ${error.message}`) : error;
    },
  );
  const deadlineMs = request[0] === 'probe' ? longestProbeMs : longestTransferMs;
  const deadline = setTimeout(() => void killTree(started.pid), deadlineMs);
  const succeeded = succeededOf(started);
  succeeded.catch(() => {}); // Awaited later by who asked; until then it is not unhandled.
  return { process: started, succeeded, release: () => clearTimeout(deadline) };
}

async function succeededOf({ child, stderr }: StartedProcess): Promise<void> {
  const said = new Capture(replyBytes);
  stderr.on('data', (chunk: Buffer) => said.push(chunk));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (code !== 0) throw fileError(said.taken().head.toString('utf8'), signal);
}

function fileError(said: string, signal: string | null): WireError {
  if (signal !== null) {
    return new WireError('file_error', `something in the sandbox ended the transfer with ${signal}`, signal);
  }
  const { errno, message } = record(said);
  const text = typeof message === 'string' ? message : `the helper failed: ${said}`;
  return new WireError('file_error', text, typeof errno === 'string' ? errno : 'UNKNOWN');
}

function byteCount(said: string): number {
  const { bytes } = record(said);
  if (typeof bytes === 'number') return bytes;
  throw new WireError('internal', 'the helper did not say how many bytes it wrote');
}

function record(json: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
  } catch {
    return {};
  }
}
