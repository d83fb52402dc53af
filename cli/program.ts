import { Command, CommanderError } from 'commander';
import { thisProcess } from '#src/platform/this-process.ts';
import { EnvironmentMistakes } from '#src/environments/mistakes.ts';
import { CommandError, exitCodes, NotInOrder } from './command-error.ts';
import { addAttachCommand } from './commands/attach.ts';
import { addAttackCommand } from './commands/attack.ts';
import { addClusterCommand } from './commands/cluster.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addImageCommand } from './commands/image.ts';
import { addKeysCommand } from './commands/keys.ts';
import { addLadderCommand } from './commands/ladder.ts';
import { addPreflightCommand } from './commands/preflight.ts';
import { addRegradeCommand } from './commands/regrade.ts';
import { addRolloutCommand, addRolloutsCommand } from './commands/rollouts.ts';
import { addRowsCommand } from './commands/rows.ts';
import { addRunCommand, addRunsCommand } from './commands/runs.ts';
import { addStudyCommand } from './commands/study.ts';
import { addTopCommand } from './commands/top.ts';
import { addUpCommand } from './commands/up.ts';
import { addVoidCommand } from './commands/void.ts';
import { processTerminal, type Terminal, withoutOrders } from './print/terminal.ts';

const exitCodeHelp = `
Exit codes:
  ${exitCodes.done}    done
  ${exitCodes.notInOrder}    a check failed (such as a failed preflight)
  ${exitCodes.yours}    your input: a wrong option, key, environment, run or rollout
  ${exitCodes.fleet}    the fleet or the machine: no answer, or a part does not start
  ${exitCodes.interrupted}  interrupted`;

/** All commands, with a terminal to speak to; {@link runCommandLine} runs one. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command('corral')
    .description(
      'One isolated sandbox for every rollout, and no infrastructure failure scored as the model’s.',
    )
    .addHelpText('after', exitCodeHelp)
    .version(thisProcess.version)
    .showHelpAfterError('(see --help)');
  // Before the commands are added: they inherit it.
  program.exitOverride().configureOutput({
    writeOut: (text) => terminal.result(text.trimEnd()),
    writeErr: (text) => terminal.remark(text.trimEnd()),
  });
  addUpCommand(program, terminal);
  addDoctorCommand(program, terminal);
  addPreflightCommand(program, terminal);
  addLadderCommand(program, terminal);
  addAttackCommand(program, terminal);
  addRowsCommand(program, terminal);
  addStudyCommand(program, terminal);
  addTopCommand(program, terminal);
  addRunsCommand(program, terminal);
  addRunCommand(program, terminal);
  addRegradeCommand(program, terminal);
  addRolloutsCommand(program, terminal);
  addRolloutCommand(program, terminal);
  addAttachCommand(program, terminal);
  addVoidCommand(program, terminal);
  addImageCommand(program, terminal);
  addKeysCommand(program, terminal);
  addClusterCommand(program, terminal);
  return program;
}

/** Runs one command and resolves with its exit code; see {@link exitCodes}. Never rejects. */
export async function runCommandLine(args: readonly string[], screen = processTerminal): Promise<number> {
  const terminal = withoutOrders(screen);
  try {
    await createProgram(terminal).parseAsync(args, { from: 'user' });
    return exitCodes.done;
  } catch (error) {
    return explain(error, terminal);
  }
}

function explain(error: unknown, terminal: Terminal): number {
  // Commander has already said what was wrong with the command line.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.yours;
  if (error instanceof NotInOrder) return exitCodes.notInOrder;
  if (error instanceof CommandError) {
    terminal.remark(`corral: ${error.explanation}`);
    return error.exitCode;
  }
  if (error instanceof EnvironmentMistakes) return explain(mendYourFiles(error), terminal);
  const detail = error instanceof Error ? (error.stack ?? error.message) : String(error);
  terminal.remark(`corral: unexpected error, a bug in Corral; please report it:\n${detail}`);
  return exitCodes.fleet;
}

const mendYourFiles = (mistakes: EnvironmentMistakes) =>
  new CommandError(mistakes.message, 'yours', 'fix the lines named above, and start again');
