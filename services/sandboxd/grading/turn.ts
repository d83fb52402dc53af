import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { GradeAction, GradeTurn } from '../../../src/protocol/sandboxd/wire.ts';
import { nothingCaptured } from '../command/capture.ts';
import { graderEnv } from '../command/command-env.ts';
import { runCommand } from '../command/run-command.ts';
import type { CommandResult } from '../command/run-command.ts';
import { makeGraderFolder } from '../folders.ts';
import { askHelper } from '../helper/ask.ts';
import { helperProcess } from '../helper/launch.ts';
import { sweepAll } from '../processes/sweep.ts';
import { processUser } from '../users.ts';
import { WireError } from '../wire-error.ts';
import { openDoor } from './door.ts';
import type { Grounds } from './run-as-policy.ts';

export type TurnLimits = { readonly timeoutMs: number; readonly keepBytes: number };
export type TurnResult = { readonly result: CommandResult; readonly grade: GradeTurn };

/** Placing some hundred files, or reading one number, in a sandbox whose memory the policy may have filled. */
const longestHelperMs = 60_000;

/**
 * One turn of the grader:
 *
 *   kill all that lives ──▶ make its folder, place its files ──▶ run it ──▶ kill all that lives ──▶ read the score, remove the folder
 *
 * It begins in a folder that the policy can neither enter nor name, with nothing of the policy's in its environment, and
 * while it runs it has a door through which programs are run as the policy. Whatever could not be killed, before or
 * after, ends the turn without a score.
 */
export async function gradeTurn(
  deps: Grounds,
  action: GradeAction,
  limits: TurnLimits,
  cancel: AbortSignal,
): Promise<TurnResult> {
  const before = await sweepAll(deps.config, deps.leaders);
  if (before.survivors > 0) return notRun({ kind: 'survivors', count: before.survivors });
  try {
    const folder = makeGraderFolder(deps.config, `turn-${randomBytes(12).toString('hex')}`);
    return await gradeIn(folder, deps, action, limits, cancel);
  } catch (error) {
    return notRun(folderFailed(error));
  }
}

async function gradeIn(
  folder: string,
  deps: Grounds,
  action: GradeAction,
  limits: TurnLimits,
  cancel: AbortSignal,
): Promise<TurnResult> {
  const { config, leaders } = deps;
  const socket = join(folder, 'door');
  await place(deps, folder, action.files, socket);
  const door = await openDoor(deps, socket);
  const result = await runCommand(judgeOf(deps, folder, action, limits), leaders, cancel);
  await door.close();
  const after = await sweepAll(config, leaders);
  if (after.survivors > 0) return { result, grade: { kind: 'survivors', count: after.survivors } };
  try {
    return { result, grade: { kind: 'ran', score: await collect(deps, folder) } };
  } catch (error) {
    return { result, grade: folderFailed(error) };
  }
}

function judgeOf({ config, env }: Grounds, folder: string, { argv, stdin }: GradeAction, limits: TurnLimits) {
  const programs = join(folder, 'bin');
  const variables = graderEnv(env, config, folder, {
    HOME: join(folder, 'home'),
    TMPDIR: join(folder, 'tmp'),
    CORRAL_GRADER_DIR: join(folder, 'files'),
    CORRAL_SCORE_FILE: join(folder, 'files', 'score'),
  });
  return {
    argv,
    cwd: folder,
    env: { ...variables, PATH: `${programs}:${variables['PATH'] ?? ''}` },
    user: processUser(config, 'grader'),
    stdin,
    ...limits,
  };
}

/** The grader's files and programs, made by its own user, so that nobody else can open them. */
async function place(
  { config }: Grounds,
  folder: string,
  files: GradeAction['files'],
  socket: string,
): Promise<void> {
  const client = helperProcess(config, 'grader', ['as-policy', socket]).argv.map(quoted).join(' ');
  const programs = { 'as-policy': `#!/bin/sh\nexec ${client} "$@"\n` };
  const given = JSON.stringify({ files, programs });
  await askHelper(config, 'grader', ['place-grader', folder], longestHelperMs, given);
}

/** The text of the score file; null where there is none. Nothing is left of the turn. */
async function collect({ config }: Grounds, folder: string): Promise<string | null> {
  const { score } = await askHelper(config, 'grader', ['collect-score', folder], longestHelperMs);
  await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  return typeof score === 'string' ? score : null;
}

const quoted = (word: string) => `'${word.replaceAll("'", String.raw`'\''`)}'`;

function folderFailed(error: unknown): GradeTurn {
  const message = error instanceof Error ? error.message : String(error);
  const errno = error instanceof WireError ? error.errno : (error as NodeJS.ErrnoException).code;
  return { kind: 'folder_failed', errno: errno ?? 'UNKNOWN', message };
}

function notRun(grade: GradeTurn): TurnResult {
  const message = 'the grader was not run';
  const ending = { kind: 'not_started', errno: 'ECANCELED', message } as const;
  const nothing = { durationMs: 0, escapedProcesses: 0, backgroundProcesses: 0 };
  return { result: { ending, stdout: nothingCaptured, stderr: nothingCaptured, ...nothing }, grade };
}
