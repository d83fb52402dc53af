import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { text } from 'node:stream/consumers';
import type { Outcome } from './outcome.ts';

/** Runs a program to its end, or until its time is up. Without `stdin` it reads nothing. */
export async function run(
  argv: readonly string[],
  {
    stdin = null,
    timeoutS = 60,
    onTimeout,
  }: { stdin?: string | null; timeoutS?: number; onTimeout?: () => Promise<unknown> } = {},
): Promise<Outcome> {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  child.stdin.on('error', () => undefined);
  child.stdin.end(stdin ?? '');
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    void onTimeout?.();
    child.kill('SIGKILL');
  }, timeoutS * 1000);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), ended(child)]);
  clearTimeout(timer);
  return { exit: timedOut ? null : codeOf(child), timedOut, stdout, stderr };
}

const ended = (child: ChildProcess) =>
  child.exitCode === null && child.signalCode === null ? once(child, 'exit') : [];

/** As a shell says it: 128 and the signal's number. */
function codeOf({ exitCode, signalCode }: ChildProcess): number | null {
  return signalCode === null ? exitCode : 128 + constants.signals[signalCode];
}
