import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../clock.ts';
import { readProcessTable, readUid } from '../processes/process-table.ts';
import { signalProcess } from '../processes/kill-tree.ts';
import type { ProcessUser } from '../users.ts';
import {
  type Entered,
  enterArguments,
  explainRefusal,
  longestReason,
  parseRefusal,
  refusedExit,
  shellExit,
} from './enter.ts';

export type ProcessSpec = Entered & {
  readonly env: Readonly<Record<string, string>>;
};

export type StartedProcess = {
  readonly pid: number;
  readonly child: ChildProcess;
  readonly stdout: Readable;
  /** Empty if it is merged into stdout. */
  readonly stderr: Readable;
  /**
   * Null once the program runs, or has ended before it could; else why it could not be run. Comes at the latest with the end
   * of the process. {@link refusalAt} asks for it.
   */
  readonly refusal: Promise<NotStarted | null>;
};

/** The program could not be run at all: nothing of it happened. */
export class NotStarted extends Error {
  readonly errno: string;
  /** What a shell would exit with in its place, if it would. */
  readonly shellExit: number | null;

  constructor(errno: string, message: string, exitCode: number | null = null) {
    super(message);
    this.name = 'NotStarted';
    this.errno = errno;
    this.shellExit = exitCode;
  }
}

/** A policy that forks without end takes each place that comes free; so often is one made. */
const mostTries = 20;
/** For the program, and for what it starts. */
const placesMade = 4;
/** A killed process is reaped by pid 1, mostly at once. */
const roomComesMs = 10;

/**
 * Starts a process in its own session and group, under another user where ids can be switched. Where the policy holds all
 * processes that the sandbox may have, some of its newest ones make room for its own next. Throws {@link NotStarted}. Only our
 * own children are ours to reap; orphans go to pid 1, which is bubblewrap's init or a pod's pause process.
 */
export async function spawnAs(spec: ProcessSpec): Promise<StartedProcess> {
  return withRoom(spec.user, () => spawnEntered(spec));
}

/** Does it again while it throws {@link NotStarted} because the sandbox has no room for a process, after some room was made. */
export async function withRoom<Result>(
  { takesRoomOf }: ProcessUser,
  start: () => Promise<Result>,
): Promise<Result> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await start();
    } catch (error) {
      const isFull = error instanceof NotStarted && error.errno === 'EAGAIN';
      if (!isFull || tries === mostTries || takesRoomOf === null) throw error;
      makeRoom(takesRoomOf);
      await sleep(roomComesMs);
    }
  }
}

/** Those that were started last: what a command has started for long is more likely wanted. */
function makeRoom(uid: number): void {
  const rows = readProcessTable().filter((row) => readUid(row.pid) === uid);
  const newest = rows.toSorted((one, other) => other.startTicks - one.startTicks);
  for (const row of newest.slice(0, placesMade)) signalProcess(row, 'SIGKILL');
}

async function spawnEntered(spec: ProcessSpec): Promise<StartedProcess> {
  const child = spawnOrThrow(spec);
  const failed = new Promise<NodeJS.ErrnoException>((resolve) => child.on('error', resolve));
  // Of a child for which no file could be opened, Node has nothing else either.
  if (child.pid === undefined) throw notStarted(await failed, spec);
  const { pid, stdout, stderr } = child;
  const status = child.stdio[3];
  if (stdout === null || (stderr === null && spec.merge !== true) || !(status instanceof Readable))
    throw new Error('a process has started without its streams');
  child.stdin?.on('error', () => {}); // The command may end without having read its input.
  return { pid, child, stdout, stderr: stderr ?? Readable.from([]), refusal: readRefusal(status, spec) };
}

/**
 * Makes the output of a command end after what was written by now. What still runs in the background can go on writing, and that
 * is dropped (`infra/payload/native/streams.h`). A helper's output ends with the helper.
 */
export function endOutput(streams: readonly Readable[]): void {
  for (const stream of streams) if (stream instanceof Socket) stream.end();
}

/** The fourth stream is closed before any code of the policy's runs: only `enter` writes there. */
function spawnOrThrow(spec: ProcessSpec): ChildProcess {
  const stdin = spec.stdin === 'pipe' ? 'pipe' : 'ignore';
  try {
    return spawn(spec.user.enter, enterArguments(spec), {
      cwd: '/',
      env: spec.env,
      detached: true,
      stdio: [stdin, 'pipe', spec.merge === true ? 'ignore' : 'pipe', 'pipe'],
    });
  } catch (error) {
    throw notStarted(error as NodeJS.ErrnoException, spec);
  }
}

async function readRefusal(status: Readable, spec: ProcessSpec): Promise<NotStarted | null> {
  let text = '';
  status.setEncoding('latin1');
  status.on('data', (chunk: string) => (text = (text + chunk).slice(0, longestReason)));
  status.on('error', () => {}); // 'close' follows.
  await once(status, 'close');
  const refusal = parseRefusal(text);
  if (refusal === null) return null;
  const { what, errno } = refusal;
  return new NotStarted(errno, explainRefusal(what, errno, spec), shellExit(what, errno));
}

/**
 * Why the program of a process that ended with this exit code could not be run; null: it ran. Throws if this machine could open
 * no file for it, which is no command's failure.
 */
export async function refusalAt(
  exitCode: number | null,
  started: StartedProcess,
): Promise<NotStarted | null> {
  const refusal = exitCode === refusedExit ? await started.refusal : null;
  if (refusal !== null && ownWants.has(refusal.errno))
    throw new Error('this machine can open no file', { cause: refusal });
  return refusal;
}

/** What a call brings about. A payload whose `enter` cannot be run is not among it. */
const ofTheCall: ReadonlySet<string> = new Set([
  'E2BIG',
  'ERR_INVALID_ARG_VALUE',
  'EAGAIN',
  'ENOMEM',
  'EMFILE',
  'ENFILE',
]);

/** Whether a call can keep a program of the payload from its start by this error. */
export const isOfCall = (errno: string): boolean => ofTheCall.has(errno);

function notStarted(error: NodeJS.ErrnoException, spec: ProcessSpec): Error {
  const errno = error.code ?? 'UNKNOWN';
  if (!isOfCall(errno)) return new Error(`sandboxd cannot run ${spec.user.enter}`, { cause: error });
  return new NotStarted(errno, explainRefusal('process', errno, spec));
}

/** That we, or this machine, can open no further file: no command's failure, and never told as one. */
const ownWants: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);
const againMs = 50;
/** Each call that ends gives back what it had open. Who has nothing for so long has leaked it, and will never have. */
const patienceMs = 5_000;

/**
 * Starts a process, if need be when there are files to be opened again. Throws {@link NotStarted}, and an error that is
 * nobody's but ours when that does not come: for a call it ends this sandboxd, so that its sandbox counts as lost.
 */
export async function spawnWhenAble(spec: ProcessSpec): Promise<StartedProcess> {
  const untilMs = monotonicMs() + patienceMs;
  for (;;) {
    try {
      return await spawnAs(spec);
    } catch (error) {
      if (!(error instanceof NotStarted) || !ownWants.has(error.errno)) throw error;
      if (monotonicMs() > untilMs) throw new Error('sandboxd can open no file', { cause: error });
      await sleep(againMs);
    }
  }
}
