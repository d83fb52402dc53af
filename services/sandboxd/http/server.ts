import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { bootHeader, sandboxHeader, spanHeader } from '#src/protocol/sandboxd/wire.ts';
import type { Daemon } from '../daemon.ts';
import { log } from '../log.ts';
import { WireError } from '../wire-error.ts';
import { letIn } from './gate.ts';
import { type Reply, routes } from './routes.ts';

/** Above the gateway's own keep-alive, so that it never sends into a connection that we are closing. */
const keepAliveTimeoutMs = 75_000;
/** For a request's last byte to arrive: as long as a whole upload may take. */
const requestTimeoutMs = 600_000;
/** A request for changes names folders and exceptions in its first line: 80 of 512 characters, encoded. */
const mostHeaderBytes = 128 * 1024;
/** A few gateways with a few parallel calls each; more is somebody who should not be here. */
const mostConnections = 512;

/** The HTTP face of a daemon; not yet listening. */
export function createHttpServer(daemon: Daemon): Server {
  const options = {
    keepAliveTimeout: keepAliveTimeoutMs,
    requestTimeout: requestTimeoutMs,
    maxHeaderSize: mostHeaderBytes,
  };
  const server = createServer(options, (request, response) => void serve(daemon, request, response));
  server.maxConnections = mostConnections;
  return server;
}

async function serve(daemon: Daemon, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.setHeader(sandboxHeader, daemon.config.sandbox);
  response.setHeader(bootHeader, daemon.boot);
  response.on('error', () => {}); // The client is gone; 'close' tells who cares.
  try {
    send(response, await dispatch(daemon, request, response));
  } catch (error) {
    refuse(request, response, error);
  }
}

async function dispatch(daemon: Daemon, request: IncomingMessage, response: ServerResponse): Promise<Reply> {
  const [path = '', query] = (request.url ?? '').split('?', 2);
  const route = routes.find((one) => one.method === request.method && one.path.test(path));
  if (route === undefined) throw new WireError('not_found', `there is no ${request.method} ${path}`);
  const { sandbox, tokenSha256 } = daemon.config;
  letIn(request.headers, { sandbox, tokenSha256, boot: daemon.boot }, route.needed);
  const caught = route.path.exec(path)?.[1] ?? '';
  const gone = closeSignal(response);
  return route.handle({ daemon, request, response, query: new URLSearchParams(query), caught, gone });
}

function closeSignal(response: ServerResponse): AbortSignal {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  return closed.signal;
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply === null) return;
  if (reply.body === undefined) {
    response.writeHead(reply.status).end();
    return;
  }
  const body = Buffer.from(JSON.stringify(reply.body));
  response
    .writeHead(reply.status, { 'content-type': 'application/json', 'content-length': body.length })
    .end(body);
}

function refuse(request: IncomingMessage, response: ServerResponse, error: unknown): void {
  // A file that broke off in the middle: a cut connection is the only honest end.
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const refusal = error instanceof WireError ? error : internal(request, error);
  // What is left of a refused body is read and dropped: a connection closed now could take our answer with it.
  request.resume();
  send(response, { status: refusal.status, body: refusal.toBody() });
}

function internal({ headers }: IncomingMessage, error: unknown): WireError {
  const message = error instanceof Error ? error.message : String(error);
  const line = { level: 'error', message: `unexpected: ${message}`, ...spanIn(headers[spanHeader]) };
  log(line);
  return new WireError('internal', `sandboxd met an error that it does not know: ${message}`);
}

/** Where its gateway tells of the same; nothing but ids is taken from it. */
function spanIn(header: string | string[] | undefined): { readonly traceparent?: string } {
  const isSpan = typeof header === 'string' && /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(header);
  return isSpan ? { traceparent: header } : {};
}
