import type { CallRequest, Ending } from '#src/protocol/sandboxd/wire.ts';

/** What a simulated command does, as the policy writes it into the tool's argument. */
export type Command = {
  /** Its own name, which it prints: the evidence by which an answer is known to be this command's. */
  readonly token: string;
  readonly runMs: number;
  readonly exitCode: number;
  /** It uses up the sandbox's memory, and then all of the sandbox's processes are killed together. */
  readonly exhausts: boolean;
  /** It prints where it runs, so that no two sandboxes say the same. */
  readonly differs?: boolean;
};

export type CommandRun = {
  readonly token: string;
  readonly lastsMs: number;
  readonly ending: Ending | 'exhausts';
};

/** How a command will run inside its timeout, in this sandbox. Setup and grader commands print nothing and end well. */
export function runOf(request: CallRequest, sandbox: string): CommandRun {
  const { action, timeoutMs } = request;
  const said = action.kind === 'exec' ? (action.argv[2] ?? '') : '';
  const command = parseCommand(said);
  if (command === null) return { token: '', lastsMs: 50, ending: { kind: 'exited', exitCode: 0 } };
  const { runMs, exitCode, exhausts, differs = false } = command;
  const token = differs ? command.token + here + sandbox : command.token;
  if (exhausts) return { token, lastsMs: Math.min(runMs, timeoutMs - 1), ending: 'exhausts' };
  if (runMs >= timeoutMs)
    return { token, lastsMs: timeoutMs, ending: { kind: 'timed_out', timeoutMs, signal: 'SIGKILL' } };
  return { token, lastsMs: runMs, ending: { kind: 'exited', exitCode } };
}

const here = ' in ';

/** What was asked for of a command that printed this. */
export const askedToken = (token: string): string => token.split(here)[0] ?? '';

export function commandText(command: Command): string {
  return JSON.stringify(command);
}

function parseCommand(text: string): Command | null {
  return text.startsWith('{') ? (JSON.parse(text) as Command) : null;
}
