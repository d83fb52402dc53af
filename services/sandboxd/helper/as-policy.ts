import { connect, type Socket } from 'node:net';
import { constants } from 'node:os';
import { parseArgs } from 'node:util';
import { framesOf, type PolicyEnding, type PolicyRequest } from '../grading/frames.ts';

/*
 * as-policy [--timeout SECONDS] [--stdin] [--cwd FOLDER] [--env NAME=VALUE]… [--output-bytes N] [--] PROGRAM [ARGUMENT…]
 *
 * Runs a program of the policy's as the policy's user, for a grader, and passes on what it prints. Its exit code is the
 * program's; 124: its time was up; 128 + N: signal N ended it; 125: it printed too much, or could not be run.
 */

const usage =
  'usage: as-policy [--timeout SECONDS] [--stdin] [--cwd FOLDER] [--env NAME=VALUE]… [--output-bytes N] [--] PROGRAM [ARGUMENT…]';

/** A case of a test takes seconds; one that hangs shall not use up the grader's whole turn. */
const defaultTimeoutS = 60;
/** What a grader can compare; a shell that keeps it in a variable has it in memory. */
const defaultOutputBytes = 1024 * 1024;
const exitTimedOut = 124;
const exitNotRun = 125;

/** Asks for one program at the socket `path`. Returns the exit code. */
export async function asPolicy(path: string, args: readonly string[]): Promise<number> {
  try {
    const { request, withStdin } = parse(args);
    const socket = connect({ path, allowHalfOpen: true });
    socket.write(`${JSON.stringify(request)}\n`);
    // The grader's own stdin has the dataset's row, answers included: it is passed on only where that is asked for.
    if (withStdin) process.stdin.pipe(socket);
    else socket.end();
    const ending = await follow(socket);
    if (withStdin) process.stdin.destroy();
    return exitCodeOf(ending);
  } catch (error) {
    process.stderr.write(`as-policy: ${error instanceof Error ? error.message : String(error)}\n`);
    return exitNotRun;
  }
}

function parse(args: readonly string[]): { readonly request: PolicyRequest; readonly withStdin: boolean } {
  const { own, argv } = split(args);
  const { values } = parseArgs({
    args: own,
    options: {
      timeout: { type: 'string', default: String(defaultTimeoutS) },
      stdin: { type: 'boolean', default: false },
      cwd: { type: 'string', default: '.' },
      env: { type: 'string', multiple: true, default: [] },
      'output-bytes': { type: 'string', default: String(defaultOutputBytes) },
    },
  });
  const timeoutMs = Math.ceil(Number(values.timeout) * 1000);
  const outputBytes = Number(values['output-bytes']);
  if (argv.length === 0 || !(timeoutMs > 0) || !Number.isInteger(outputBytes)) throw new Error(usage);
  const env = Object.fromEntries(values.env.map(variable));
  return { request: { argv, cwd: values.cwd, env, timeoutMs, outputBytes }, withStdin: values.stdin };
}

const withValue: ReadonlySet<string> = new Set(['--timeout', '--cwd', '--env', '--output-bytes']);

/** Our options end at the first word that is none, as for `env` and `timeout`: the rest is the program's. */
function split(args: readonly string[]): { readonly own: string[]; readonly argv: string[] } {
  let end = 0;
  while (end < args.length && args[end]?.startsWith('--') === true && args[end] !== '--')
    end += withValue.has(args[end] ?? '') ? 2 : 1;
  return { own: args.slice(0, end), argv: args.slice(args[end] === '--' ? end + 1 : end) };
}

function variable(text: string): readonly [string, string] {
  const at = text.indexOf('=');
  if (at <= 0) throw new Error(`--env ${text} is not NAME=VALUE`);
  return [text.slice(0, at), text.slice(at + 1)];
}

async function follow(socket: Socket): Promise<PolicyEnding> {
  // Who has read enough closes its end (`as-policy … | head -1`); the program goes on to its own.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  for await (const { kind, bytes } of framesOf(socket)) {
    if (kind === 'stdout') process.stdout.write(bytes);
    else if (kind === 'stderr') process.stderr.write(bytes);
    else return JSON.parse(bytes.toString('utf8')) as PolicyEnding;
  }
  throw new Error('sandboxd hung up');
}

function exitCodeOf(ending: PolicyEnding): number {
  switch (ending.kind) {
    case 'exited':
      return ending.exitCode;
    case 'signalled':
      return 128 + (constants.signals[ending.signal as NodeJS.Signals] ?? 0);
    case 'timed_out':
      return exitTimedOut;
    case 'flooded':
      throw new Error('it printed more than --output-bytes allows, and was killed');
    case 'refused':
      throw new Error(ending.reason);
  }
}
