import { setImmediate as afterReading, setTimeout as sleep } from 'node:timers/promises';
import type { Ending } from '#src/protocol/sandboxd/wire.ts';
import { monotonicMs } from '../clock.ts';
import { countAlive, isTreeAlive, killTree, terminateTree } from '../processes/kill-tree.ts';
import type { Leader, Leaders } from '../processes/leaders.ts';
import { nothingCaptured, type RawCapture } from './capture.ts';
import { Output } from './output.ts';
import { NotStarted, type ProcessSpec, type StartedProcess } from './spawn-as.ts';
import { spawnWhenAble } from './spawn-when-able.ts';

export type CommandSpec = Omit<ProcessSpec, 'stdin'> & {
  /** UTF-8 text; absent = nothing to read. */
  readonly stdin: string | undefined;
  /** From the command's own start; our time before it is not charged. */
  readonly timeoutMs: number;
  /** Of each stream. */
  readonly keepBytes: number;
  /** No SIGTERM and no grace at the timeout. */
  readonly killAtOnce?: boolean;
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
 *   running   → settling at its own exit, or ending at its timeout or by `cancel`
 *   ending    timeout: TERM to the whole tree, a grace, KILL, unless its caller has no time for that; cancel: KILL at once,
 *             since nobody waits for it → settling
 *   settling  until the pipes were quiet → done; what still runs in the background is left alone, unless it was ended
 */
export async function runCommand(
  spec: CommandSpec,
  leaders: Leaders,
  cancel: AbortSignal,
): Promise<CommandResult> {
  try {
    const started = await spawnWhenAble({ ...spec, stdin: spec.stdin === undefined ? 'nothing' : 'pipe' });
    const leader = leaders.add(started.pid, spec.user.ids?.uid ?? null);
    return await follow(started, leader, spec, leaders, cancel);
  } catch (error) {
    if (!(error instanceof NotStarted)) throw error;
    return neverStarted(error);
  }
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
  const output = new Output(started.stdout, started.stderr, spec.keepBytes);
  started.child.stdin?.end(spec.stdin);
  const stop = await firstStop(exited, spec.timeoutMs, cancel);
  if (stop !== 'exited') await end(stop === 'cancelled' || spec.killAtOnce === true, leader.pid);
  const exit = await Promise.race([exited, sleep(exitAfterKillMs, null, { ref: false })]);
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

function exitOf({ child }: StartedProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
}

async function firstStop(exited: Promise<Exit>, timeoutMs: number, cancel: AbortSignal): Promise<Stop> {
  const over = new AbortController();
  const signal = AbortSignal.any([cancel, over.signal]);
  // A loop that stood still runs late timers before it hears of exits: a command that ended in time has not timed out.
  const timedOut = sleep(timeoutMs, undefined, { signal }).then(
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
