import { accessSync, constants } from 'node:fs';
import { isOfCall } from '../command/spawn-as.ts';
import type { CommandResult } from '../command/run-command.ts';
import type { Config } from '../config.ts';
import { helperFiles } from './helper-process.ts';

/*
 * A built-in tool is a process of Corral's. If its program cannot be run, or Corral's own files are gone, its end says nothing of what the
 * policy asked for. No call brings that about, so it is thrown, and ends this sandboxd: its sandbox counts as lost.
 */

/** Returns the result of a built-in tool, or throws if the tool did not run because of Corral's own files. */
export function requireHelper(config: Config, result: CommandResult): CommandResult {
  const { ending } = result;
  if (ending.kind === 'not_started' && !isOfCall(ending.errno))
    throw new Error(`sandboxd cannot run a program of its own: ${ending.message}`);
  const isWell = ending.kind === 'exited' && ending.exitCode === 0;
  if (!isWell) requireOwnFiles(config);
  return result;
}

/** Throws if a file is missing that every helper needs. */
export function requireOwnFiles(config: Config): void {
  const missing = helperFiles(config).filter(isUnreadable);
  if (missing.length > 0) throw new Error(`sandboxd cannot read files of its own: ${missing.join(', ')}`);
}

function isUnreadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK);
    return false;
  } catch {
    return true;
  }
}
