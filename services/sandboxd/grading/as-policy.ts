import { once } from 'node:events';
import { chmodSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { maxPauseFactor } from '#src/protocol/sandboxd/wire.ts';
import { commandEnv } from '../command/command-env.ts';
import { endOutput, NotStarted, refusalAt, spawnWhenAble, type StartedProcess } from '../command/spawn-as.ts';
import { fairTimeout, type Pauses, type Starvation } from '../command/starvation.ts';
import type { Config } from '../config.ts';
import * as shape from '../http/shape.ts';
import { killTree } from '../processes/kill-tree.ts';
import type { Leaders } from '../processes/leaders.ts';
import { sweepUser } from '../processes/sweep.ts';
import { policyForGrader, processUser } from '../users.ts';
import { frame, type FrameKind, type PolicyEnding, type PolicyRequest } from './frames.ts';

/*
 * The grader's one way to run what the policy wrote. Nothing in a sandbox may switch users but sandboxd (no_new_privs
 * forbids setuid programs), so `as-policy` asks here, over a socket that only the grader's group can reach, and that
 * exists during its turn only.
 */

type AsPolicySocket = { close(): Promise<void> };

/** A grader's parallel cases; each costs a process of ours beside the policy's own. Others wait for their turn. */
const mostAtOnce = 32;
/** As much as the kernel takes for arguments and variables of one program. */
const longestRequestBytes = 2 * 1024 * 1024;
const longestRunMs = 86_400_000;
const mostOutputBytes = 1024 ** 3;
/** The grader's group may connect; its folder is closed to everybody else. */
const socketMode = 0o660;

export async function serveAsPolicy(grounds: Served, path: string): Promise<AsPolicySocket> {
  const runs = new Runs(grounds);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    void serve(socket, runs);
  });
  server.listen(path);
  await once(server, 'listening');
  chmodSync(path, socketMode);
  return {
    close: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      await runs.close();
    },
  };
}

/**
 * The programs that run now, so many at once; others wait. When the last of them has ended nothing of the policy's lives,
 * wherever it hid, and only then the next begins.
 */
class Runs {
  readonly #grounds: Served;
  readonly #running = new Set<Promise<unknown>>();
  readonly #waiting: (() => void)[] = [];
  #sweeping = false;
  #closed = false;

  constructor(grounds: Served) {
    this.#grounds = grounds;
  }

  async run(request: PolicyRequest, stdin: AsyncIterable<Uint8Array>, socket: Socket): Promise<PolicyEnding> {
    while (this.#sweeping || this.#running.size >= mostAtOnce) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#closed) return { kind: 'refused', reason: 'the grader has ended' };
    const cwd = resolve(this.#grounds.config.workspace, request.cwd);
    const running = runAsPolicy(this.#grounds, { ...request, cwd }, stdin, socket);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
      if (this.#running.size === 0) await this.#sweep();
      for (const next of this.#waiting.splice(0)) next();
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#running);
  }

  /** Where ids are one, the grader cannot be told from the policy by them. A survivor is told by the sweep at the turn's end. */
  async #sweep(): Promise<void> {
    const { config } = this.#grounds;
    if (config.userMode !== 'two-user') return;
    this.#sweeping = true;
    await sweepUser(processUser(config, 'policy'));
    this.#sweeping = false;
  }
}

/** What is wrong with a request is told; what is wrong with us is thrown, and ends this sandboxd. */
async function serve(socket: Socket, runs: Runs): Promise<void> {
  socket.on('error', () => undefined); // The grader is gone; 'close' tells who cares.
  const asked = await readRequest(socket);
  const ending: PolicyEnding =
    typeof asked === 'string'
      ? { kind: 'refused', reason: asked }
      : await runs.run(asked.request, asked.stdin, socket);
  if (socket.writable) socket.end(frame('ended', Buffer.from(JSON.stringify(ending))));
}

/** The request and what follows it; a text: what is wrong with it. */
async function readRequest(socket: Socket) {
  try {
    // Its end is the end of stdin, not of the connection.
    const chunks = socket.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
    const { line, rest } = await firstLine(chunks);
    return { request: parseRequest(line), stdin: following(rest, chunks) };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function firstLine(chunks: AsyncIterator<Buffer>): Promise<{ line: string; rest: Buffer }> {
  let held: Buffer = Buffer.alloc(0);
  while (held.length < longestRequestBytes) {
    const end = held.indexOf('\n');
    if (end >= 0) return { line: held.toString('utf8', 0, end), rest: held.subarray(end + 1) };
    const next = await chunks.next();
    if (next.done === true) throw new Error('the request broke off');
    held = Buffer.concat([held, next.value]);
  }
  throw new Error(`a request may have ${longestRequestBytes} bytes`);
}

async function* following(first: Buffer, chunks: AsyncIterator<Buffer>): AsyncIterable<Buffer> {
  if (first.length > 0) yield first;
  for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value;
}

function parseRequest(line: string): PolicyRequest {
  const { argv, cwd, env, timeoutMs, outputBytes } = shape.fields(JSON.parse(line), 'the request');
  return {
    argv: shape.argv(argv, 'argv'),
    cwd: shape.text(cwd, 'cwd'),
    env: shape.texts(env, 'env'),
    timeoutMs: shape.whole(timeoutMs, 'timeoutMs', 1, longestRunMs),
    outputBytes: shape.whole(outputBytes, 'outputBytes', 0, mostOutputBytes),
  };
}

/** Where a grader's programs run, and the pauses of its clock: theirs are within these. */
type Served = Grounds & { readonly pauses: Pauses };

/** What it takes to start programs in this sandbox. */
export type Grounds = {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly leaders: Leaders;
  readonly starvation: Starvation;
  /** Folders that have what a policy left in another sandbox. */
  readonly changed: ReadonlySet<string>;
};

/**
 * After its end a program's last output is still on its way, by a process that a busy machine may run late. It takes so long only if the
 * policy holds its own pipe up; then the program has not ended, for the grader, because its output is not whole.
 */
const longestRestMs = 60_000;
/** A grader that was killed is only heard when it is spoken to: an empty frame, so often. */
const stillThereMs = 500;
const nothing = Buffer.alloc(0);

/**
 * Runs one program as the policy's user for the grader at the other end of the socket: in the policy's environment, with
 * stdin from the grader and its output going there, until it ends, its time is up, it prints too much, or the grader hangs
 * up. Then its whole tree is killed: what the policy's code left running shall not meet the grader's next step.
 */
async function runAsPolicy(
  deps: Served,
  request: PolicyRequest,
  stdin: AsyncIterable<Uint8Array>,
  socket: Socket,
): Promise<PolicyEnding> {
  const started = await startProgram(deps, request).catch((error: unknown) => {
    if (error instanceof NotStarted) return error.message;
    throw error;
  });
  if (typeof started === 'string') return { kind: 'refused', reason: started };
  // Where ids are apart all of the policy's is found by its id, and a grader may run thousands of these.
  if (deps.config.userMode !== 'two-user') deps.leaders.add(started.pid, null);
  void feed(started, stdin);
  const printed = printTo(socket, started, request.outputBytes);
  const over = new AbortController();
  const listening = setInterval(() => void socket.write(frame('stdout', nothing)), stillThereMs);
  const { timeoutMs } = request;
  const pauses = deps.pauses.within(maxPauseFactor * timeoutMs);
  const timedOut = fairTimeout(timeoutMs, pauses, over.signal).catch(() => undefined);
  const hungUp = once(socket, 'close', { signal: over.signal }).catch(() => undefined);
  const ending = await Promise.race([
    exitOf(started),
    printed.flooded,
    Promise.race([timedOut, hungUp]).then(() => ({ kind: 'timed_out' }) as const),
  ]);
  over.abort();
  await killTree(started.pid);
  endOutput([started.stdout, started.stderr]);
  const isWhole = await Promise.race([
    printed.closed.then(() => true),
    sleep(longestRestMs, false, { ref: false }),
  ]);
  clearInterval(listening);
  // What it printed before its end is counted after it.
  if (printed.isFlooded()) return { kind: 'flooded' };
  return isWhole ? ending : { kind: 'timed_out' };
}

function startProgram(
  { config, env }: Grounds,
  { argv, cwd, env: added }: PolicyRequest,
): Promise<StartedProcess> {
  const variables = commandEnv(env, config.workspace, added);
  return spawnWhenAble({ argv, cwd, env: variables, user: policyForGrader(config), stdin: 'pipe' });
}

/** To its end, also when the program reads no more of it: what nobody reads would hold the connection. */
async function feed({ child }: StartedProcess, stdin: AsyncIterable<Uint8Array>): Promise<void> {
  const ended = once(child, 'exit');
  try {
    for await (const chunk of stdin) {
      if (child.stdin?.writable === true && !child.stdin.write(chunk))
        await Promise.race([once(child.stdin, 'drain'), once(child.stdin, 'close'), ended]);
    }
  } catch {
    // The program reads no more, or the grader hung up: both have an end of their own.
  } finally {
    child.stdin?.end();
  }
}

/** Passes both streams on, as fast as the grader reads. */
function printTo(socket: Socket, { stdout, stderr }: StartedProcess, outputBytes: number) {
  const flooded = Promise.withResolvers<PolicyEnding>();
  let leftBytes = outputBytes;
  const pass = async (stream: Readable, kind: FrameKind) => {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const kept = chunk.subarray(0, Math.max(0, leftBytes));
      leftBytes -= chunk.length;
      if (leftBytes < 0) flooded.resolve({ kind: 'flooded' });
      if (kept.length === 0 || !socket.writable || socket.write(frame(kind, kept))) continue;
      await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
    }
  };
  const closed = Promise.allSettled([pass(stdout, 'stdout'), pass(stderr, 'stderr')]);
  return { flooded: flooded.promise, isFlooded: () => leftBytes < 0, closed };
}

async function exitOf(started: StartedProcess): Promise<PolicyEnding> {
  const [code, signal] = (await once(started.child, 'exit')) as [number | null, string | null];
  const refusal = await refusalAt(code, started);
  if (refusal !== null) return { kind: 'refused', reason: refusal.message };
  return signal === null ? { kind: 'exited', exitCode: code ?? 0 } : { kind: 'signalled', signal };
}
