import { chmod, rm } from 'node:fs/promises';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Failure } from '#src/failure/failure.ts';
import { createServer } from '#src/platform/node-http.ts';
import type { Log } from '#src/ports/log.ts';
import type { NodeErrorBody } from '#src/protocol/node/wire.ts';
import { accepts } from '../sandbox/listening.ts';

/** Answers one request, or throws; what is thrown becomes an error body. */
export type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

type Served = {
  /** Takes no more requests, ends those that stream, removes the socket. */
  close(): Promise<void>;
};

/** Two nodes with one state folder would take each other's sandboxes for orphans. Rejects when one serves already. */
export async function refuseSecondNode(socketPath: string): Promise<void> {
  if (await accepts(socketPath)) {
    throw new Error(
      `another node already serves ${socketPath}: stop it, or give this one its own state folder`,
    );
  }
}

/** Serves on a unix socket that only its owner may open; a socket that a dead process left is replaced. */
export async function serve(socketPath: string, handle: Handle, log: Log): Promise<Served> {
  await rm(socketPath, { force: true });
  const server = createServer((request, response) => void respond(handle, request, response, log));
  await listen(server, socketPath);
  return { close: () => close(server) };
}

async function respond(
  handle: Handle,
  request: IncomingMessage,
  response: ServerResponse,
  log: Log,
): Promise<void> {
  try {
    await handle(request, response);
  } catch (thrown) {
    refuse(response, thrown, log);
  }
}

async function listen(server: Server, socketPath: string): Promise<void> {
  // Nobody may connect between bind and chmod.
  const before = process.umask(0o177);
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(socketPath, resolve);
    });
  } finally {
    process.umask(before);
  }
  await chmod(socketPath, 0o600);
}

// Node removes the socket's file when the server closes.
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** A request that does not follow the protocol. */
export class BadRequest extends Error {
  readonly status: 400 | 404 | 413;

  constructor(status: 400 | 404 | 413, message: string) {
    super(message);
    this.name = 'BadRequest';
    this.status = status;
  }
}

/** A template with its data folders and environment; nothing here is larger. */
const longestBodyBytes = 1024 * 1024;

/** A compiled schema, which takes a fiftieth of the time that the schema itself does. */
type Check<Body> = {
  Check(value: unknown): value is Body;
  Errors(value: unknown): readonly { readonly instancePath: string; readonly message: string }[];
};

/** The body, checked. Throws {@link BadRequest} with the first thing that is wrong. */
export async function readBody<Body>(request: IncomingMessage, check: Check<Body>): Promise<Body> {
  const value = parse(await readText(request));
  if (check.Check(value)) return value;
  const [first] = check.Errors(value);
  throw new BadRequest(400, `body${first?.instancePath ?? ''} ${first?.message ?? 'is wrong'}`);
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > longestBodyBytes)
      throw new BadRequest(413, `the body is longer than ${longestBodyBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadRequest(400, 'the body is not JSON');
  }
}

export function answer(response: ServerResponse, status: number, body?: object): void {
  response.writeHead(status, body === undefined ? {} : { 'content-type': 'application/json' });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

/** Turns what a handler threw into an error body; what nobody foresaw is logged and may be asked again. */
function refuse(response: ServerResponse, thrown: unknown, log: Log): void {
  const [status, code] = classify(thrown);
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  if (status === 500) log.error('request failed', { error: message });
  if (response.headersSent) return void response.destroy();
  // The rest of a body that we refused is not read.
  response.shouldKeepAlive = false;
  const body: NodeErrorBody = { error: { code, message } };
  answer(response, status, body);
}

function classify(thrown: unknown): readonly [number, NodeErrorBody['error']['code']] {
  if (thrown instanceof BadRequest) return [thrown.status, 'invalid_request'];
  if (
    thrown instanceof Failure &&
    (thrown.code === 'start_failed' || thrown.code === 'setup_failed' || thrown.code === 'image_unavailable')
  )
    return [422, thrown.code];
  if (
    thrown instanceof Failure &&
    (thrown.code === 'provider_unavailable' || thrown.code === 'unschedulable')
  )
    return [503, thrown.code];
  return [500, 'provider_unavailable'];
}
