import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { behindSandboxd } from '../command/behind-sandboxd.ts';
import { commandEnv } from '../command/command-env.ts';
import { enterable } from '../command/enterable.ts';
import { NotStarted, type StartedProcess } from '../command/spawn-as.ts';
import { spawnWhenAble } from '../command/spawn-when-able.ts';
import type { Config } from '../config.ts';
import { killTree } from '../processes/kill-tree.ts';
import type { Leaders } from '../processes/leaders.ts';
import { processUser } from '../users.ts';
import { frame, type FrameKind, type PolicyEnding, type PolicyRequest } from './frames.ts';

/** What it takes to start programs in this sandbox. */
export type Grounds = {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly leaders: Leaders;
};

/** After its end a program's last output is still on its way; one that somebody holds open is not waited for longer. */
const drainMs = 2_000;
/** A grader that was killed is only heard when it is spoken to: an empty frame, so often. */
const stillThereMs = 500;
const nothing = Buffer.alloc(0);

/**
 * Runs one program as the policy's user for the grader at the other end of the socket: in the policy's environment, with
 * stdin from the grader and its output going there, until it ends, its time is up, it prints too much, or the grader hangs
 * up. Then its whole tree is killed: what the policy's code left running shall not meet the grader's next step.
 */
export async function runAsPolicy(
  deps: Grounds,
  request: PolicyRequest,
  stdin: AsyncIterable<Uint8Array>,
  socket: Socket,
): Promise<PolicyEnding> {
  const started = await start(deps, request).catch((error: unknown) => {
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
  const timedOut = sleep(request.timeoutMs, undefined, { signal: over.signal }).catch(() => undefined);
  const hungUp = once(socket, 'close', { signal: over.signal }).catch(() => undefined);
  const ending = await Promise.race([
    exitOf(started),
    printed.flooded,
    Promise.race([timedOut, hungUp]).then(() => ({ kind: 'timed_out' }) as const),
  ]);
  over.abort();
  await killTree(started.pid);
  await Promise.race([printed.closed, sleep(drainMs, undefined, { ref: false })]);
  clearInterval(listening);
  // What it printed before its end is counted after it.
  return printed.isFlooded() ? { kind: 'flooded' } : ending;
}

function start({ config, env }: Grounds, { argv, cwd, env: added }: PolicyRequest): Promise<StartedProcess> {
  const variables = commandEnv(env, config.workspace, added);
  const process = behindSandboxd({ ...enterable(cwd, argv), env: variables }, config);
  return spawnWhenAble({ ...process, user: processUser(config, 'policy'), stdin: 'pipe' });
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

function exitOf({ child }: StartedProcess): Promise<PolicyEnding> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(signal === null ? { kind: 'exited', exitCode: code ?? 0 } : { kind: 'signalled', signal }),
    );
  });
}
