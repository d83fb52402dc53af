import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import {
  identifyProcess,
  isAlive,
  parseIdentity,
  type ProcessIdentity,
} from '#cli/fleet/process-identity.ts';
import { until } from './until.ts';

/**
 * A program that goes on when we end. Its record in the cluster's `pids` folder says which process it is: the pid alone is
 * used again by others.
 */
export type Daemon = { readonly name: string; readonly argv: readonly string[] };

type Folders = { readonly pids: string; readonly logs: string };

/** Starts it in a session of its own; it writes to `logs/NAME.log`, after what an earlier one wrote. */
export function startDaemon({ pids, logs }: Folders, { name, argv }: Daemon): void {
  const [program = '', ...args] = argv;
  for (const folder of [pids, logs]) mkdirSync(folder, { recursive: true });
  const log = openSync(join(logs, `${name}.log`), 'a');
  try {
    const child = spawn(program, args, { detached: true, stdio: ['ignore', log, log] });
    // Without a pid it did not start: the `error` event says no more than the wait for its first answer will.
    child.on('error', () => undefined).unref();
    const identity = child.pid === undefined ? null : identifyProcess(child.pid);
    if (identity === null) throw new Error(`${name} did not start: ${argv.join(' ')}`);
    writeFileSync(join(pids, `${name}.json`), JSON.stringify(identity));
  } finally {
    closeSync(log);
  }
}

/** Null when it was never started, or has ended. */
export function livingDaemon(pids: string, name: string): ProcessIdentity | null {
  const identity = recordedIn(join(pids, `${name}.json`));
  return identity !== null && isAlive(identity) ? identity : null;
}

/** Names of all that were started and not stopped by us, dead ones too. */
export function recordedDaemons(pids: string): readonly string[] {
  return namesIn(pids).map((file) => basename(file, '.json'));
}

/** Sends a signal; a daemon that has ended needs none. */
export function signalDaemon(pids: string, name: string, signal: NodeJS.Signals): void {
  const identity = livingDaemon(pids, name);
  if (identity !== null) process.kill(identity.pid, signal);
}

/** How long a daemon may take to end by itself; all of ours need less than a second. */
const graceMs = 3_000;
const deathMs = 10_000;

/** Ends it, with SIGKILL if it must be, waits until it is gone, and removes its record. */
export async function stopDaemon(pids: string, name: string): Promise<void> {
  const gone = async () => livingDaemon(pids, name) === null;
  signalDaemon(pids, name, 'SIGTERM');
  // One that was stopped by SIGSTOP takes the SIGTERM only when it goes on.
  signalDaemon(pids, name, 'SIGCONT');
  await until({ what: `the end of ${name}`, timeoutMs: graceMs }, gone).catch(() => killDaemon(pids, name));
  rmSync(join(pids, `${name}.json`), { force: true });
}

/** Ends it as a crash would: no warning, no farewell. */
export async function killDaemon(pids: string, name: string): Promise<void> {
  signalDaemon(pids, name, 'SIGKILL');
  const gone = async () => livingDaemon(pids, name) === null;
  await until({ what: `the death of ${name}`, timeoutMs: deathMs }, gone);
}

function recordedIn(file: string): ProcessIdentity | null {
  try {
    return parseIdentity(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
