import { spawn } from 'node:child_process';
import type { Clock } from '#src/ports/clock.ts';
import type { LogFile } from './log-file.ts';
import { killGroup, type PartRecords } from './part-records.ts';
import { identifyProcess } from './process-identity.ts';

export type PartName = 'redis' | 'node' | 'controller' | 'gateway' | 'console';

/** How to run one part of the fleet. */
export type PartSpec = {
  readonly name: PartName;
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** Asked again and again until it says true. */
  readonly isReady: (signal: AbortSignal, pid: number) => Promise<boolean>;
  /**
   * What the kernel sends it when the fleet's own process dies. TERM where it has something to put away that outlives
   * it (sandboxes, cgroups), KILL elsewhere: a gateway would otherwise finish held requests for minutes.
   */
  readonly deathSignal: 'TERM' | 'KILL';
  /** From asking it to stop to SIGKILL. */
  readonly stopGraceMs: number;
};

export type PartExit = { readonly code: number | null; readonly signal: string | null };

export type PartProcess = {
  readonly pid: number;
  /** Never rejects. */
  readonly exited: Promise<PartExit>;
  /** Null while it runs. */
  exit(): PartExit | null;
  /** SIGTERM, then SIGKILL after the grace; resolves when it is gone. */
  stop(): Promise<void>;
  kill(): void;
};

/**
 * Starts the part in a process group of its own (a Ctrl-C at the terminal reaches only us, and we stop the parts in
 * order) and notes it on disk. Its stdin is a pipe that we never write: it closes when we die.
 */
export function startPartProcess(spec: PartSpec, log: LogFile, records: PartRecords): PartProcess {
  const child = spawn('setpriv', ['--pdeathsig', spec.deathSignal, '--', ...spec.argv], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...spec.env },
  });
  log.take(child.stdout);
  log.take(child.stderr);
  // A part that dies while its stdin is open is reported by `exited`, not by a broken pipe.
  child.stdin.on('error', () => undefined);
  let exit: PartExit | null = null;
  const exited = new Promise<PartExit>((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: error.message }));
    child.once('exit', (code, signal) => resolve({ code, signal }));
  }).then((how) => {
    records.remove(spec.name);
    return (exit = how);
  });
  const pid = child.pid ?? 0;
  const identity = identifyProcess(pid);
  if (identity !== null) records.write(spec.name, identity);
  const running = { pid, exited, exit: () => exit };
  return { ...running, ...endings(running, spec.stopGraceMs) };
}

type Running = Pick<PartProcess, 'pid' | 'exited' | 'exit'>;

function endings({ pid, exited, exit }: Running, graceMs: number) {
  // The pid of an ended process may already belong to another process.
  const send = (signal: NodeJS.Signals) => {
    if (pid > 0 && exit() === null) killGroup(pid, signal);
  };
  const stop = async () => {
    const timer = setTimeout(() => send('SIGKILL'), graceMs);
    send('SIGTERM');
    await exited;
    clearTimeout(timer);
  };
  return { kill: () => send('SIGKILL'), stop };
}

/** Between two questions whether a part is ready. */
const askEveryMs = 25;
/** One question; a part that takes longer is busy starting and is asked again. */
const askTimeoutMs = 2_000;

type ReadyOptions = {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Aborts when the part is being stopped. */
  readonly stopping: AbortSignal;
};

/** Resolves with the milliseconds it took when the part answers ready; rejects when it ends first, when it takes too long, or when we stop. */
export async function becomeReady(
  spec: PartSpec,
  process: PartProcess,
  { clock, deadlineMs, stopping }: ReadyOptions,
): Promise<number> {
  const startedAtMs = clock.monotonicMs();
  for (;;) {
    const exit = process.exit();
    if (exit !== null) throw new Error(`it ended at once (${describeExit(exit)})`);
    if (stopping.aborted) throw new Error('stopped');
    if (await answersReady(spec, process.pid)) break;
    if (clock.monotonicMs() - startedAtMs > deadlineMs) {
      throw new Error(`it was not ready within ${Math.round(deadlineMs / 1000)} s`);
    }
    await clock.sleep(askEveryMs, stopping);
  }
  return clock.monotonicMs() - startedAtMs;
}

/** Connection refused, no socket yet, a half-written answer: all of them mean "not yet". */
async function answersReady(spec: PartSpec, pid: number): Promise<boolean> {
  try {
    return await spec.isReady(AbortSignal.timeout(askTimeoutMs), pid);
  } catch {
    return false;
  }
}

export const describeExit = ({ code, signal }: PartExit): string =>
  signal === null ? `exit code ${code}` : signal.startsWith('SIG') ? `killed by ${signal}` : signal;
