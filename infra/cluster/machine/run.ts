import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CommandError } from '#cli/command-error.ts';

const execute = promisify(execFile);

export type RunOptions = {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly timeoutMs?: number;
  readonly stdin?: string | undefined;
};

/** Nothing that is started and waited for here takes longer; builds say their own limit. */
const defaultTimeoutMs = 60_000;
/** `kubectl get -o json` of a few hundred pods is some megabytes. */
const mostOutputBytes = 64 * 1024 * 1024;

/** Runs a program to its end and returns its stdout. Throws a CommandError with the end of its stderr. */
export async function run(argv: readonly string[], options: RunOptions = {}): Promise<string> {
  const [program = '', ...args] = argv;
  const running = execute(program, args, {
    cwd: options.cwd,
    env: options.env,
    timeout: options.timeoutMs ?? defaultTimeoutMs,
    maxBuffer: mostOutputBytes,
  });
  // A program that ends before it has read everything says why on its stderr.
  running.child.stdin?.on('error', () => undefined).end(options.stdin ?? '');
  try {
    return (await running).stdout;
  } catch (error) {
    throw new CommandError(
      `${argv.slice(0, 4).join(' ')}: ${reasonOf(error)}`,
      'this machine',
      'fix what it says, then try again',
      error,
    );
  }
}

/** The same, where failing is an answer too: null. */
export const tryRun = (argv: readonly string[], options: RunOptions = {}): Promise<string | null> =>
  run(argv, options).catch(() => null);

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stderr = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : '';
  const timedOut = 'killed' in error && error.killed === true ? 'took too long and was ended; ' : '';
  return timedOut + (stderr === '' ? error.message : stderr.split('\n').slice(-5).join('\n'));
}
