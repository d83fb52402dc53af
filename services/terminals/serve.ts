import { mkdirSync, rmSync, statSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { once } from 'node:events';

/** A server whose socket was removed or replaced can no longer be reached: it ends, and all that it holds open with it. */
const lookEveryMs = 5_000;

/** Writes a line when the server listens at that path, or when another one does. */
export function serve(title: string, socketPath: string, server: Server): void {
  process.title = title;
  void listenFirst(socketPath, server).catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}

async function listenFirst(socketPath: string, server: Server): Promise<void> {
  mkdirSync(dirname(socketPath), { recursive: true, mode: 0o700 });
  const isFirst = await listen(server, socketPath);
  process.stdout.write('ready\n');
  if (isFirst) endWithSocket(socketPath);
}

/** False if another server answers there. What a server left that was killed is removed. */
async function listen(server: Server, path: string): Promise<boolean> {
  try {
    await listenOnce(server, path);
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'EADDRINUSE') throw error;
    if (await answers(path)) return false;
    rmSync(path);
    await listenOnce(server, path);
  }
  return true;
}

async function listenOnce(server: Server, path: string): Promise<void> {
  server.listen(path);
  await once(server, 'listening');
}

async function answers(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

function endWithSocket(path: string): void {
  const { ino } = statSync(path);
  setInterval(() => {
    if (statSync(path, { throwIfNoEntry: false })?.ino !== ino) process.exit(0);
  }, lookEveryMs).unref();
}
