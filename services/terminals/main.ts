/**
 * The server of a sandbox's terminals: arguments are the path of its socket and that of `pty`. It runs as the policy's user, is started by
 * the client of the first `terminal_open` (`infra/payload/native/ask-terminals.c`), and ends with the sandbox. It writes a line when it
 * listens, or when another server does.
 */
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { connect, type Server } from 'node:net';
import { dirname } from 'node:path';
import { once } from 'node:events';
import { terminalServer } from './server.ts';
import { Terminals } from './terminals.ts';

/** A server whose socket was removed or replaced can no longer be reached: it ends, and hangs its terminals up. */
const lookEveryMs = 5_000;

async function main([socketPath = '', pty = '']: readonly string[]): Promise<void> {
  process.title = 'corral-terminals';
  mkdirSync(dirname(socketPath), { recursive: true, mode: 0o700 });
  const server = terminalServer(new Terminals(pty));
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

void main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
