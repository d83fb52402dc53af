import type { Readable, Writable } from 'node:stream';
import { setImmediate as afterReading, setTimeout as sleep } from 'node:timers/promises';
import type { Ending } from '#src/protocol/sandboxd/wire.ts';
import { monotonicMs } from '../clock.ts';
import { collect } from '../collect.ts';
import { countAlive, isTreeAlive, killTree, terminateTree } from '../processes/kill-tree.ts';
import type { Leader, Leaders } from '../processes/leaders.ts';
import { Capture, nothingCaptured, type RawCapture } from './capture.ts';
import {
  endOutput,
  NotStarted,
  type ProcessSpec,
  refusalAt,
  spawnWhenAble,
  type StartedProcess,
  withRoom,
} from './spawn-as.ts';
import { type Pauses, timeOver } from './starvation.ts';

export type CommandSpec = Omit<ProcessSpec, 'stdin'> & {
  /** UTF-8 text or bytes; absent = nothing to read. */
  readonly stdin: string | Buffer | undefined;
  /** From the command's own start; our time before it is not charged. */
  readonly timeoutMs: number;
  /** In these the time does not count. */
  readonly pauses?: Pauses;
  /** Of each stream. */
  readonly keepBytes: number;
  /** No SIGTERM and no grace at the timeout. */
  readonly killAtOnce?: boolean;
  /** What follows it while it runs. */
  readonly live?: LiveCommand | null;
  /** Exits as a shell does if its program is missing or not executable, with a sentence on stderr; else it is `not_started`. */
  readonly exitsLikeShell?: boolean;
};

/** Follows a command: reads what is kept of its streams, and writes to its stdin. */
export type LiveCommand = {
  /** These have its output from now on. */
  follow(captures: readonly [stdout: Capture, stderr: Capture]): void;
  /** They have more. */
  changed(): void;
  /** Whether stdin stays open for more than the command was given. */
  readonly keepsStdin: boolean;
  /** The program runs, and reads from this what comes later. */
  writeTo(stdin: Writable): void;
};

export type CommandResult = {
  readonly ending: Ending;
  readonly stdout: RawCapture;
  readonly stderr: RawCapture;
  readonly durationMs: number;
  readonly escapedProcesses: number;
  readonly backgroundProcesses: number;
};

/** Between SIGTERM and SIGKILL at the timeout: enough to flush and remove a lock file. */
const graceMs = 2000;
const graceLookMs = 50;
/** After SIGKILL the exit is a formality; a process stuck in the kernel must not hold the answer for ever. */
const exitAfterKillMs = 5000;

type Exit = { readonly code: number | null; readonly signal: string | null };
type Stop = 'exited' | 'timed_out' | 'cancelled';

/**
 * Runs one command to its answer:
 *
 *   starting  → running, or done as `not_started`
 *   running   → settling at its own exit, or ending at its timeout or by `cancel`; done as `not_started` if its program could
 *             not be run
 *   ending    timeout: TERM to the whole tree, a grace, KILL, unless its caller has no time for that; cancel: KILL at once,
 *             since nobody waits for it → settling
 *   settling  until the streams have ended, or were quiet and then made to end → done; what still runs in the background is
 *             left alone, unless it was ended
 */
export async function runCommand(
  spec: CommandSpec,
  leaders: Leaders,
  cancel: AbortSignal,
): Promise<CommandResult> {
  try {
    return await withRoom(spec.user, () => runOnce(spec, leaders, cancel));
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    return spec.exitsLikeShell === true && error.shellExit !== null
      ? exitedLikeShell(error.shellExit, error.message, spec)
      : neverStarted(error);
  }
}

async function runOnce(spec: CommandSpec, leaders: Leaders, cancel: AbortSignal): Promise<CommandResult> {
  const hasStdin = spec.stdin !== undefined || spec.live?.keepsStdin === true;
  const started = await spawnWhenAble({ ...spec, stdin: hasStdin ? 'pipe' : 'nothing' });
  const leader = leaders.add(started.pid, spec.user.ids?.uid ?? null);
  return follow(started, leader, spec, leaders, cancel);
}

async function follow(
  started: StartedProcess,
  leader: Leader,
  spec: CommandSpec,
  leaders: Leaders,
  cancel: AbortSignal,
): Promise<CommandResult> {
  const startMs = monotonicMs();
  const exited = exitOf(started);
  const output = new Output([started.stdout, started.stderr], spec);
  giveStdin(started, spec);
  const stop = await firstStop(exited, spec, cancel);
  if (stop !== 'exited') await end(stop === 'cancelled' || spec.killAtOnce === true, leader.pid);
  const exit = await Promise.race([exited, sleep(exitAfterKillMs, null, { ref: false })]);
  const refusal = await refusalAt(exit?.code ?? null, started);
  if (refusal !== null) throw refusal;
  await output.settled();
  const alive = countAlive(leader, leaders.sessionsBut(leader));
  return {
    ending: endingOf(stop, exit, spec.timeoutMs),
    ...output.take(),
    durationMs: Math.round(monotonicMs() - startMs),
    escapedProcesses: stop === 'exited' ? 0 : alive,
    backgroundProcesses: stop === 'exited' ? alive : 0,
  };
}

/** Later writes wait for the program: a start without room for a process is made again, with a stdin of its own. */
function giveStdin({ child, refusal }: StartedProcess, { stdin, live }: CommandSpec): void {
  const pipe = child.stdin;
  if (live?.keepsStdin !== true) return void pipe?.end(stdin);
  if (stdin !== undefined) pipe?.write(stdin);
  void refusal.then((refused) => {
    if (refused === null && pipe !== null) live.writeTo(pipe);
  });
}

function exitOf({ child }: StartedProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

async function firstStop(
  exited: Promise<Exit>,
  time: Pick<CommandSpec, 'timeoutMs' | 'pauses'>,
  cancel: AbortSignal,
): Promise<Stop> {
  const over = new AbortController();
  const signal = AbortSignal.any([cancel, over.signal]);
  // A loop that stood still runs late timers before it hears of exits: a command that ended in time has not timed out.
  const timedOut = timeOver(time, signal).then(
    () => afterReading('timed_out' as const),
    () => 'cancelled' as const,
  );
  try {
    return await Promise.race([exited.then(() => 'exited' as const), timedOut]);
  } finally {
    over.abort();
  }
}

async function end(atOnce: boolean, leader: number): Promise<void> {
  if (atOnce) return killTree(leader);
  const known = terminateTree(leader);
  for (let waitedMs = 0; waitedMs < graceMs && isTreeAlive(leader, known); waitedMs += graceLookMs) {
    await sleep(graceLookMs);
  }
  return killTree(leader, known);
}

function endingOf(stop: Stop, exit: Exit | null, timeoutMs: number): Ending {
  if (stop === 'cancelled') return { kind: 'cancelled' };
  const { code = null, signal = null } = exit ?? {};
  if (stop === 'exited' && signal !== null) return { kind: 'signalled', signal };
  if (stop === 'exited' && code !== null) return { kind: 'exited', exitCode: code };
  const how = { ...(code === null ? {} : { exitCode: code }), ...(signal === null ? {} : { signal }) };
  return { kind: 'timed_out', timeoutMs, ...how };
}

function exitedLikeShell(exitCode: number, sentence: string, { merge = false }: CommandSpec): CommandResult {
  const head = Buffer.from(`${sentence}\n`);
  const said = { head, tail: Buffer.alloc(0), totalBytes: head.length };
  return {
    ending: { kind: 'exited', exitCode },
    stdout: merge ? said : nothingCaptured,
    stderr: merge ? nothingCaptured : said,
    durationMs: 0,
    escapedProcesses: 0,
    backgroundProcesses: 0,
  };
}

function neverStarted(error: NotStarted): CommandResult {
  return {
    ending: { kind: 'not_started', errno: error.errno, message: error.message },
    stdout: nothingCaptured,
    stderr: nothingCaptured,
    durationMs: 0,
    escapedProcesses: 0,
    backgroundProcesses: 0,
  };
}

/** How long streams must be silent after the command's own end before its output counts as complete. */
const quietMs = 200;
/** A background process that never falls silent must not hold the answer back for longer. */
const longestWaitMs = 2000;
/**
 * For the rest, after the streams were made to end. What passes it on has sandboxd's own priority, and takes so long only if the policy
 * holds its own pipe up.
 */
const longestRestMs = 5000;

/** Both output streams of a command, to the end of what it wrote. */
export class Output {
  readonly #streams: readonly [stdout: Readable, stderr: Readable];
  readonly #captures: readonly [Capture, Capture];
  readonly #isInternal: boolean;
  readonly #live: LiveCommand | null;
  #openStreams = 2;
  #lastWriteMs = monotonicMs();
  #onClosed: () => void = () => {};

  constructor(
    streams: readonly [stdout: Readable, stderr: Readable],
    { keepBytes, isInternal = false, live = null }: Pick<CommandSpec, 'keepBytes' | 'isInternal' | 'live'>,
  ) {
    this.#streams = streams;
    this.#captures = [new Capture(keepBytes), new Capture(keepBytes)];
    this.#isInternal = isInternal;
    this.#live = live;
    live?.follow(this.#captures);
    this.#read(streams[0], this.#captures[0]);
    this.#read(streams[1], this.#captures[1]);
  }

  /** Resolves when both streams have ended, which they are made to after they were silent long enough. Call it at the command's own end. */
  async settled(): Promise<void> {
    await this.#quiet();
    if (!this.#isInternal) await this.#rest();
    for (const stream of this.#streams) stream.destroy();
  }

  /** Silence alone does not say that all has come: between the command and sandboxd is a process that may have to wait for its turn. */
  async #rest(): Promise<void> {
    endOutput(this.#streams);
    if (this.#openStreams > 0) await this.#closedWithin(longestRestMs);
  }

  async #quiet(): Promise<void> {
    const endedMs = monotonicMs();
    while (this.#openStreams > 0) {
      // What was written before the end may still be on its way to us: silence counts from the end.
      const quietAtMs = Math.max(this.#lastWriteMs, endedMs) + quietMs;
      const waitMs = Math.min(quietAtMs, endedMs + longestWaitMs) - monotonicMs();
      if (waitMs <= 0) return;
      await this.#closedWithin(waitMs);
      // A loop that stood still runs late timers before it reads: silence is silence only when the streams were looked at.
      await afterReading();
    }
  }

  /** What was kept. */
  take(): { readonly stdout: RawCapture; readonly stderr: RawCapture } {
    const [stdout, stderr] = this.#captures;
    return { stdout: stdout.taken(), stderr: stderr.taken() };
  }

  #read(stream: Readable, capture: Capture): void {
    stream.on('data', (chunk: Buffer) => {
      this.#lastWriteMs = monotonicMs();
      noteRead();
      capture.push(chunk);
      this.#live?.changed();
    });
    stream.on('error', () => {}); // The peer is gone; 'close' follows and is what counts.
    stream.once('close', () => {
      this.#openStreams -= 1;
      if (this.#openStreams === 0) this.#onClosed();
    });
  }

  #closedWithin(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, waitMs);
      this.#onClosed = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/**
 * Node reads a stream into a new buffer of 64 KiB each time. To the collector they look small, since their bytes lie outside
 * its heap, and so some 40 MB of them pile up under a flood of output before it looks. Young garbage is collected in a
 * millisecond, and with that the pile stays below 8 MB.
 */
const readsBetweenCollections = 128;
let reads = 0;

/** Notes one read of a stream, whatever its size. */
function noteRead(): void {
  reads = (reads + 1) % readsBetweenCollections;
  if (reads === 0) collect({ type: 'minor', execution: 'sync' });
}
