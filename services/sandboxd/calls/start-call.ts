import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';
import type { BuiltinAction, CallRequest, ExecAction } from '../../../src/protocol/sandboxd/wire.ts';
import { commandEnv } from '../command/command-env.ts';
import { runCommand } from '../command/run-command.ts';
import type { CommandSpec } from '../command/run-command.ts';
import type { Config } from '../config.ts';
import { readOutOfMemoryKills } from '../evidence.ts';
import { helperProcess } from '../helper/launch.ts';
import type { Leaders } from '../processes/leaders.ts';
import { processUser } from '../users.ts';
import type { RawAnswer } from './answer.ts';
import type { StartCall } from './journal.ts';

/** How calls become processes: a command as it is, a built-in tool as our helper; both under the command's user. */
export function callStarter(config: Config, env: NodeJS.ProcessEnv, leaders: Leaders): StartCall {
  return async (callId, request, cancel) => {
    const killsBefore = readOutOfMemoryKills(config.cgroupEvents);
    const result = await runCommand(commandOf(config, env, request), leaders, cancel);
    const killsAfter = readOutOfMemoryKills(config.cgroupEvents);
    const { ending, stdout, stderr, durationMs, escapedProcesses, backgroundProcesses } = result;
    const outOfMemoryKills = killsBefore === null || killsAfter === null ? null : killsAfter - killsBefore;
    const evidence = { durationMs, outOfMemoryKills, escapedProcesses, backgroundProcesses };
    return { callId, ending, stdout, stderr, evidence } satisfies RawAnswer;
  };
}

function commandOf(config: Config, env: NodeJS.ProcessEnv, request: CallRequest): CommandSpec {
  const { action, timeoutMs, keepBytes } = request;
  const parts = action.kind === 'exec' ? execProcess(config, env, action) : builtinProcess(config, action);
  return { ...parts, timeoutMs, keepBytes };
}

type ProcessParts = Omit<CommandSpec, 'timeoutMs' | 'keepBytes'>;

/** A command of the environment or the caller. */
export function execProcess(config: Config, env: NodeJS.ProcessEnv, action: ExecAction): ProcessParts {
  const cwd = resolve(config.workspace, action.cwd ?? '.');
  return {
    ...enter(cwd, action.argv),
    env: commandEnv(env, config.workspace, action.env),
    user: processUser(config, action.user ?? 'policy'),
    stdin: action.stdin,
  };
}

/**
 * A working folder is entered before the user is switched, and sandboxd as root may lack the privilege to enter a folder
 * that only its owner may. Then the image's shell, already the command's user, enters it.
 */
function enter(
  cwd: string,
  argv: readonly string[],
): { readonly argv: readonly string[]; readonly cwd: string } {
  try {
    accessSync(cwd, constants.X_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') {
      return { argv: ['/bin/sh', '-c', 'cd -- "$0" && exec "$@"', cwd, ...argv], cwd: '/' };
    }
  }
  return { argv, cwd };
}

function builtinProcess(config: Config, action: BuiltinAction): ProcessParts {
  const { tool, arguments: values } = action;
  return { ...helperProcess(config, 'policy', ['tool', tool]), stdin: JSON.stringify(values) };
}
