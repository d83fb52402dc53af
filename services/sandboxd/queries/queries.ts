import { setTimeout as sleep } from 'node:timers/promises';
import { brokenDatabaseExit, type Ending, type QueryAction } from '#src/protocol/sandboxd/wire.ts';
import { monotonicMs } from '../clock.ts';
import { Capture, nothingCaptured } from '../command/capture.ts';
import type { CommandResult } from '../command/run-command.ts';
import { isOfCall, NotStarted, spawnWhenAble, type StartedProcess } from '../command/spawn-as.ts';
import { pausesOf, timeOver } from '../command/starvation.ts';
import type { CallClock } from '../calls/call-clock.ts';
import type { Grounds } from '../grading/as-policy.ts';
import { framesOf, type FrameKind } from '../grading/frames.ts';
import { helperProcess } from '../helper/helper-process.ts';
import { requireOwnFiles } from '../helper/own-files.ts';
import { killTree } from '../processes/kill-tree.ts';

type Limits = {
  /** Asked when the turn of a query has come. Null: it has waited for too long and may not start. */
  readonly startClock: () => CallClock | null;
  readonly keepBytes: number;
};
type QueryGrounds = Pick<Grounds, 'config' | 'leaders' | 'starvation'>;
type Frame = { readonly kind: FrameKind; readonly bytes: Buffer };
type Answerer = {
  readonly process: StartedProcess;
  readonly frames: AsyncGenerator<Frame>;
  /** How it ended, once it has. */
  readonly ended: Promise<Ending>;
};

/** Our own frames have at most this; who sends a longer one is not our program any more. */
export const longestFrameBytes = 64 * 1024;
/** A start of Node on a machine that has other things to do; it is charged to nobody's query. */
const startMs = 30_000;
const exitAfterKillMs = 5_000;

/**
 * Queries of this sandbox: one process answers them one after another, over its own pipes, to which there is no path. It
 * is nobody the policy can signal, trace or speak to. Started by the first query, which in an environment that has any is
 * part of its setup; where it ends, by a query that takes too long or because the policy has used up what the sandbox has,
 * the next query starts another, that remembers nothing of the one before.
 *
 * However it ends, the call that it worked on has an ordinary end that the model reads, because a query may have caused it. A database
 * that can no longer be read, or an answerer whose own files are gone, is an infrastructure failure: no policy can cause these.
 */
export class Queries {
  readonly #grounds: QueryGrounds;
  #answerer: Answerer | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #asked = 0;

  constructor(grounds: QueryGrounds) {
    this.#grounds = grounds;
  }

  /** Waits for those before it, which is not charged to it. `late`: for too long, so nothing was asked. */
  ask(action: QueryAction, limits: Limits, cancel: AbortSignal): Promise<CommandResult | 'late'> {
    const asked = this.#last.then(() => this.#ask(action, limits, cancel));
    this.#last = asked.catch(() => undefined);
    return asked;
  }

  async #ask(action: QueryAction, limits: Limits, cancel: AbortSignal): Promise<CommandResult | 'late'> {
    if (cancel.aborted) return resultOf({ kind: 'cancelled' });
    if (limits.startClock() === null) return 'late';
    try {
      const answerer = (this.#answerer ??= await this.#start());
      // The start of a process takes time, too, and a policy can make it slow.
      const clock = limits.startClock();
      if (clock === null) return 'late';
      return await this.#exchange(answerer, action, { ...limits, ...clock }, cancel);
    } catch (error) {
      if (!(error instanceof NotStarted)) throw error;
      return resultOf({ kind: 'not_started', errno: error.errno, message: error.message });
    }
  }

  async #start(): Promise<Answerer> {
    const { config, leaders } = this.#grounds;
    const spec = helperProcess(config, 'queries', ['answer-queries']);
    const process = await spawnWhenAble({ ...spec, stdin: 'pipe' });
    leaders.add(process.pid, spec.user.ids?.uid ?? null);
    process.stderr.resume();
    const answerer = { process, frames: framesOf(process.stdout, longestFrameBytes), ended: endOf(process) };
    void answerer.ended.then(() => this.#forget(answerer));
    // It says when it listens.
    const first = await Promise.race([answerer.frames.next(), sleep(startMs, null, { ref: false })]);
    if (first !== null && first.done !== true) return answerer;
    await this.#end(answerer);
    // Only of a process that has ended is it certain that the reason comes.
    const refusal = first === null ? null : await process.refusal;
    requireOwnFiles(config);
    if (refusal !== null && !isOfCall(refusal.errno))
      throw new Error(`sandboxd cannot run a program of its own: ${refusal.message}`);
    throw refusal ?? new NotStarted('ETIMEDOUT', 'what answers queries did not start');
  }

  async #exchange(
    answerer: Answerer,
    action: QueryAction,
    { keepBytes, ...clock }: CallClock & Pick<Limits, 'keepBytes'>,
    cancel: AbortSignal,
  ): Promise<CommandResult> {
    const said = { stdout: new Capture(keepBytes), stderr: new Capture(keepBytes) };
    const beganMs = monotonicMs();
    const id = (this.#asked += 1);
    answerer.process.child.stdin?.write(`${JSON.stringify({ id, ...action })}\n`);
    const time = { timeoutMs: clock.timeoutMs, ...pausesOf(this.#grounds.starvation, clock) };
    const stop = await firstOf(readReply(answerer.frames, id, said), time, cancel);
    const ending = await this.#endingOf(answerer, stop, clock.timeoutMs);
    const durationMs = Math.round(monotonicMs() - beganMs);
    return { ...resultOf(ending), stdout: said.stdout.taken(), stderr: said.stderr.taken(), durationMs };
  }

  async #endingOf(answerer: Answerer, stop: Stop, timeoutMs: number): Promise<Ending> {
    if (typeof stop === 'number') return { kind: 'exited', exitCode: stop };
    const ending = await this.#end(answerer);
    if (stop === 'timed_out') return { kind: 'timed_out', timeoutMs };
    return stop === 'cancelled' ? { kind: 'cancelled' } : ending;
  }

  async #end(answerer: Answerer): Promise<Ending> {
    this.#forget(answerer);
    await killTree(answerer.process.pid);
    const late: Ending = { kind: 'signalled', signal: 'SIGKILL' };
    return Promise.race([answerer.ended, sleep(exitAfterKillMs, late, { ref: false })]);
  }

  #forget(answerer: Answerer): void {
    if (this.#answerer === answerer) this.#answerer = null;
  }
}

/** `broken`: it ended in the middle, or says what our program would not. */
type Stop = number | 'broken' | 'timed_out' | 'cancelled';

async function firstOf(
  reply: Promise<number | 'broken'>,
  time: Parameters<typeof timeOver>[0],
  cancel: AbortSignal,
): Promise<Stop> {
  const over = new AbortController();
  const signal = AbortSignal.any([cancel, over.signal]);
  const late = timeOver(time, signal).then(
    () => 'timed_out' as const,
    () => 'cancelled' as const,
  );
  try {
    return await Promise.race([reply, late]);
  } finally {
    over.abort();
  }
}

async function readReply(
  frames: AsyncGenerator<Frame>,
  id: number,
  said: { readonly stdout: Capture; readonly stderr: Capture },
): Promise<number | 'broken'> {
  for (;;) {
    const next = await frames.next();
    if (next.done === true) return 'broken';
    const { kind, bytes } = next.value;
    if (kind === 'ended') return exitCodeIn(bytes, id) ?? 'broken';
    said[kind].push(bytes);
  }
}

function exitCodeIn(bytes: Buffer, id: number): number | null {
  try {
    const [ofId, exitCode] = JSON.parse(bytes.toString('utf8')) as readonly unknown[];
    return ofId === id && isExitCode(exitCode) ? exitCode : null;
  } catch {
    return null;
  }
}

const isExitCode = (code: unknown): code is number => code === 0 || code === 1 || code === brokenDatabaseExit;

function endOf({ child }: StartedProcess): Promise<Ending> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      // One that ended by itself has not answered, whatever its code says.
      if (signal === null) resolve({ kind: 'exited', exitCode: code === null || code === 0 ? 1 : code });
      // What is mapped was cut short, or its disk cannot be read.
      else if (signal === 'SIGBUS') resolve({ kind: 'exited', exitCode: brokenDatabaseExit });
      else resolve({ kind: 'signalled', signal });
    });
  });
}

function resultOf(ending: Ending): CommandResult {
  const nothing = { durationMs: 0, escapedProcesses: 0, backgroundProcesses: 0 };
  return { ending, stdout: nothingCaptured, stderr: nothingCaptured, ...nothing };
}
