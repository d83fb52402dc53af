import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { chmod, rm } from 'node:fs/promises';
import type { Log } from '#src/ports/log.ts';
import { accepts } from '../sandbox/listening.ts';
import { refuse } from './answers.ts';

/** Answers one request, or throws; what is thrown becomes an error body. */
export type Handle = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export type Served = {
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
