import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  granted,
  longestReplyBytes,
  longestTerminalWaitS,
  refused,
  type TerminalRequest,
  usualTerminalWaitS,
} from '#src/protocol/sandboxd/terminals.ts';
import { writeOut } from './print.ts';
import { ToolError } from './tools/tool-arguments.ts';

/** Beyond the wait that the call asks for. With the longest wait it is shorter than the tools' timeout. */
const answerGraceMs = 20_000;
const connectWithinMs = 5_000;
/** A start of Node on a machine that has other things to do. */
const startWithinMs = 20_000;
/** Of what the server says if it cannot start. */
const longestReason = 500;

/**
 * Asks the server of this sandbox's terminals, and prints what it answers. An open starts the server if no server answers; it outlives this
 * process. All of it has the policy's user, so whatever fails here is a text for the model.
 */
export async function askTerminals(
  socketPath: string,
  [pty = '', ...server]: readonly string[],
): Promise<0 | 1> {
  try {
    const request = await text(process.stdin);
    const socket = await connected(socketPath, () => startIfOpen(request, server, [socketPath, pty]));
    await writeOut([await answered(socket, request, socketPath)]);
    return 0;
  } catch (error) {
    process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

const absent: ReadonlySet<string> = new Set(['ENOENT', 'ECONNREFUSED']);

async function connected(path: string, start: () => Promise<void>): Promise<Socket> {
  try {
    return await connectOnce(path);
  } catch (error) {
    if (!absent.has(codeOf(error))) throw notReached(path);
    await start();
    return connectOnce(path).catch(() => {
      throw notReached(path);
    });
  }
}

async function connectOnce(path: string): Promise<Socket> {
  const socket = connect({ path, allowHalfOpen: true });
  await once(socket, 'connect', { signal: AbortSignal.timeout(connectWithinMs) });
  return socket;
}

async function startIfOpen(
  request: string,
  server: readonly string[],
  words: readonly string[],
): Promise<void> {
  const { tool } = JSON.parse(request) as TerminalRequest;
  if (tool !== 'terminal_open') throw new ToolError('no terminal is open; terminal_open opens one');
  await startServer([...server, ...words]);
}

/** It stays in this session, so that a sandbox finds it among what its commands have left. It gets none of this process's streams. */
async function startServer([program = '', ...rest]: readonly string[]): Promise<void> {
  const server = spawn(program, rest, { cwd: '/', env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
  let reason = '';
  server.stderr.setEncoding('utf8').on('data', (said: string) => {
    reason = (reason + said).slice(0, longestReason);
  });
  const late = AbortSignal.timeout(startWithinMs);
  try {
    const isReady = once(server.stdout, 'data', { signal: late }).then(() => true);
    const hasEnded = once(server, 'close', { signal: late }).then(() => false);
    hasEnded.catch(() => {});
    if (!(await Promise.race([isReady, hasEnded]))) throw new Error(reason.trim());
  } catch (error) {
    server.kill('SIGKILL');
    const why = late.aborted ? `not within ${startWithinMs / 1000} s` : messageOf(error);
    throw new ToolError(`the server of the terminals did not start: ${why}`);
  }
  server.stdout.destroy();
  server.stderr.destroy();
  server.unref();
}

/** Whatever answers there is bounded in length and in time. */
async function answered(socket: Socket, request: string, path: string): Promise<string> {
  const late = AbortSignal.timeout(askedWaitMs(request) + answerGraceMs);
  late.addEventListener('abort', () => socket.destroy(notReached(path)));
  socket.end(request);
  const reply = await replyOn(socket);
  const kind = reply.slice(0, 1);
  if (kind === granted) return reply.slice(1);
  throw new ToolError(kind === refused ? reply.slice(1) : ended);
}

/** Only the server checks a request. */
function askedWaitMs(request: string): number {
  const { arguments: values } = JSON.parse(request) as TerminalRequest;
  const seconds = Number(values['timeout_s'] ?? usualTerminalWaitS);
  return Math.min(Number.isFinite(seconds) ? seconds : 0, longestTerminalWaitS) * 1000;
}

const ended =
  'the server of the terminals has ended, and all terminals with it; terminal_open starts another';

async function replyOn(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > longestReplyBytes) throw new ToolError('the answer of the terminal is too long');
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof ToolError ? error : new ToolError(ended);
  }
  return Buffer.concat(chunks).toString();
}

const notReached = (path: string) =>
  new ToolError(
    `the server of the terminals does not answer; end it, or remove ${dirname(path)}, then open another terminal`,
  );

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
