import { spawn } from 'node:child_process';
import type { LogFile } from './log-file.ts';
import { killGroup, type PartRecords } from './part-records.ts';
import { identifyProcess } from './process-identity.ts';

export type PartName = 'redis' | 'node' | 'controller' | 'gateway';

/** How to run one part of the fleet. */
export type PartSpec = {
  readonly name: PartName;
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** Asked again and again until it says true. */
  readonly isReady: (signal: AbortSignal) => Promise<boolean>;
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
  // A pid that has ended may already be somebody else's.
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
