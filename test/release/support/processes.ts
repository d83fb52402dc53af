import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';

/** Runs a program until it exits. The error of a failed program has its output. */
export const run = promisify(execFile);

export type Started = { readonly process: ChildProcess; stop(): Promise<void> };

/** Starts a server that runs until it is stopped. Resolves when `isThere` returns true. */
export async function startServer(
  argv: readonly string[],
  isThere: () => Promise<boolean>,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Started> {
  // The kernel ends the server with this process, also if this process is killed.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', '--', ...argv], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env,
  });
  let said = '';
  child.stderr.on('data', (piece: Buffer) => (said = (said + piece.toString()).slice(-4000)));
  const ended = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  while (!(await isThere().catch(() => false))) {
    const gone = await Promise.race([ended.then(() => true), pause().then(() => false)]);
    if (gone) throw new Error(`${argv[0]} ended at its start:\n${said}`);
  }
  return { process: child, stop };
}

const askAgainMs = 200;
const pause = () => new Promise((resolve) => setTimeout(resolve, askAgainMs));

export const answers = async (url: string): Promise<boolean> => (await fetch(url)).ok;
