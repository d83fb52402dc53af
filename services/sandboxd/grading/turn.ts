import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GradeAction, GradeTurn } from '#src/protocol/sandboxd/wire.ts';
import { nothingCaptured } from '../command/capture.ts';
import { graderEnv, keptFromPolicy } from '../command/command-env.ts';
import { type CommandResult, runCommand } from '../command/run-command.ts';
import { Pauses } from '../command/starvation.ts';
import { makeGraderFolder } from '../folders.ts';
import { askHelper } from '../helper/run.ts';
import { helperProcess } from '../helper/helper-process.ts';
import { leadsTo } from '../programs/leading-to.ts';
import { placesOf } from '../programs/permissions.ts';
import { sweepAll } from '../processes/sweep.ts';
import { randomHex } from '../random.ts';
import { shortageIn, type ShortageWatch, watchShortage } from '../reading/shortage.ts';
import { processUser } from '../users.ts';
import { WireError } from '../wire-error.ts';
import { type Grounds, serveAsPolicy } from './as-policy.ts';
import { type TurnLimits, TurnTime } from './turn-time.ts';

type Limits = TurnLimits & { readonly keepBytes: number };
export type TurnResult = { readonly result: CommandResult; readonly grade: GradeTurn };

/**
 * One turn of the grader:
 *
 *   kill all that lives ──▶ make its folder, place its files ──▶ run it ──▶ kill all that lives ──▶ read the score
 *
 * It begins in a folder that the policy can neither enter nor name, with nothing of the policy's in its environment, and
 * while it runs it has a socket through which programs are run as the policy. Whatever could not be killed, before or
 * after, ends the turn without a score. It reports a want of memory only if the sandbox's own account shows it. A mistake of
 * our own in here is thrown, and ends this sandboxd.
 */
export async function gradeTurn(
  grounds: Grounds,
  action: GradeAction,
  limits: Limits,
  cancel: AbortSignal,
): Promise<TurnResult> {
  const time = new TurnTime(limits);
  const before = await sweepAll(grounds.config, grounds.leaders);
  if (before.survivors > 0) return notRun({ kind: 'survivors', count: before.survivors });
  const first = watchShortage(grounds.config);
  const ran = await placeAndRun(grounds, action, { ...limits, time }, cancel, first.orLost).finally(
    first.end,
  );
  if ('grade' in ran) return ran;
  const { result, placed } = ran;
  const after = await sweepAll(grounds.config, grounds.leaders);
  if (after.survivors > 0) return { result, grade: { kind: 'survivors', count: after.survivors } };
  if (result.ending.kind === 'timed_out') return { result, grade: readOf(null, action) };
  const last = watchShortage(grounds.config);
  const grade = await collectTwice(grounds, placed, action, time)
    .catch((error: unknown) => folderFailed(last.orLost(error)))
    .finally(last.end);
  return { result, grade };
}

async function placeAndRun(
  grounds: Grounds,
  action: GradeAction,
  { time, ...limits }: Limits & { readonly time: TurnTime },
  cancel: AbortSignal,
  orLost: ShortageWatch['orLost'],
): Promise<TurnResult | { readonly result: CommandResult; readonly placed: string }> {
  const placed = await place(grounds, action, time.placingMs()).catch((error: unknown) =>
    folderFailed(orLost(error)),
  );
  if (typeof placed !== 'string') return notRun(placed);
  return { result: unlessLost(await runGrader(grounds, placed, action, limits, cancel), orLost), placed };
}

/** What kept a grader from its start, if the sandbox's own account shows it. */
function unlessLost(result: CommandResult, orLost: (error: unknown) => unknown): CommandResult {
  const { ending } = result;
  if (ending.kind !== 'not_started') return result;
  const { errno, message } = reasonOf(orLost(new WireError('internal', ending.message, ending.errno)));
  return { ...result, ending: { ...ending, errno, message } };
}

async function runGrader(
  grounds: Grounds,
  folder: string,
  { argv, stdin, rollout }: GradeAction,
  { timeoutMs, maxPauseMs, keepBytes }: Limits,
  cancel: AbortSignal,
): Promise<CommandResult> {
  const { config, leaders, starvation } = grounds;
  const pauses = new Pauses(starvation, maxPauseMs);
  const socket = await serveAsPolicy({ ...grounds, pauses }, socketIn(folder));
  try {
    const user = processUser(config, 'grader');
    const env = environmentIn(folder, grounds, rollout !== undefined);
    if (isChanged(argv[0] ?? '', env['PATH'] ?? '', grounds)) return changedProgram(argv[0] ?? '');
    return await runCommand(
      { argv, cwd: folder, env, user, stdin, pauses, timeoutMs, keepBytes },
      leaders,
      cancel,
    );
  } finally {
    await socket.close();
  }
}

/** A program that the policy may have written, or whose interpreter it may, never grades: by its name, or by a link of the image. */
function isChanged(program: string, path: string, { config, changed }: Grounds): boolean {
  if (changed.size === 0) return false;
  const place = placesOf(program, path, '/').find((each) => existsSync(inRootOfGrader(config, each)));
  return place !== undefined && leadsTo({ root: config.graderRoot ?? '', folders: changed }, place);
}

const inRootOfGrader = ({ graderRoot }: Grounds['config'], path: string) => `${graderRoot ?? ''}${path}`;

function changedProgram(program: string): CommandResult {
  const message = `${program} is in a folder that the policy changed: let the grader be a program of the image outside of it`;
  const nothing = { durationMs: 0, escapedProcesses: 0, backgroundProcesses: 0 };
  return {
    ending: { kind: 'not_started', errno: 'EPERM', message },
    stdout: nothingCaptured,
    stderr: nothingCaptured,
    ...nothing,
  };
}

const socketIn = (folder: string) => join(folder, 'as-policy.sock');

/** Its own user's alone, and gone with the turn: what the policy said is nobody else's to read, or to read later. */
const rolloutIn = (folder: string) => join(folder, 'rollout.json');

function environmentIn(
  folder: string,
  { config, env, changed }: Grounds,
  told: boolean,
): Record<string, string> {
  const own = {
    TMPDIR: join(folder, 'tmp'),
    CORRAL_GRADER_DIR: join(folder, 'files'),
    CORRAL_SCORE_FILE: join(folder, 'score'),
    ...(told && { CORRAL_ROLLOUT: rolloutIn(folder) }),
  };
  const variables = graderEnv(env, config, join(folder, 'home'), own, changed);
  return { ...variables, PATH: `${join(folder, 'bin')}:${variables['PATH'] ?? ''}` };
}

/**
 * The folder of a turn, with the grader's files and programs, made by its own user so that nobody else can open them.
 * Nothing is left there of the turns before.
 */
async function place({ config }: Grounds, { files, rollout }: GradeAction, mostMs: number): Promise<string> {
  if (keptFromPolicy(config.graderFolder, config) === null)
    throw new WireError('internal', `${config.graderFolder} is open to the policy`, 'EPERM');
  const earlier = turnsIn(config.graderFolder);
  const folder = makeGraderFolder(config, `${turnPrefix}${randomHex(12)}`);
  const client = helperProcess(config, 'grader', ['as-policy', socketIn(folder)])
    .argv.map(quoted)
    .join(' ');
  const programs = { 'as-policy': `#!/bin/sh\nexec ${client} "$@"\n` };
  const told = rollout === undefined ? {} : { [rolloutIn(folder)]: rollout };
  const given = JSON.stringify({ earlier, files, programs, told });
  await askHelper(config, 'grader', ['place-grader', folder], mostMs, given);
  return folder;
}

const turnPrefix = 'turn-';

const turnsIn = (folder: string) =>
  readdirSync(folder)
    .filter((name) => name.startsWith(turnPrefix))
    .map((name) => join(folder, name));

/** Memory that was short for a moment may be there again. The gateway cannot ask again: it would have to run the grader again. */
async function collectTwice(
  grounds: Grounds,
  folder: string,
  action: GradeAction,
  time: TurnTime,
): Promise<GradeTurn> {
  try {
    return await collect(grounds, folder, action, time.collectingMs());
  } catch (first) {
    if (shortageIn(first) === null) throw first;
    await sleep(collectAgainAfterMs);
    return collect(grounds, folder, action, time.collectingMs()).catch(() => Promise.reject(first));
  }
}

const collectAgainAfterMs = 1_000;

async function collect(
  { config }: Grounds,
  folder: string,
  action: GradeAction,
  mostMs: number,
): Promise<GradeTurn> {
  const asked = ['read-score', join(folder, 'score'), rolloutIn(folder)];
  const { score } = await askHelper(config, 'grader', asked, mostMs);
  return readOf(typeof score === 'string' ? score : null, action);
}

/** A grader that reached its timeout has no score to read, so that its end depends on no helper. */
const readOf = (score: string | null, { rollout }: GradeAction): GradeTurn => ({
  kind: 'ran',
  score,
  ...(rollout !== undefined && { toldRollout: true }),
});

const quoted = (word: string) => `'${word.replaceAll("'", String.raw`'\''`)}'`;

const folderFailed = (error: unknown): GradeTurn => ({ kind: 'folder_failed', ...reasonOf(error) });

function reasonOf(error: unknown): { readonly errno: string; readonly message: string } {
  const message = error instanceof Error ? error.message : String(error);
  const errno = error instanceof WireError ? error.errno : (error as NodeJS.ErrnoException).code;
  return { errno: errno ?? 'UNKNOWN', message };
}

function notRun(grade: GradeTurn): TurnResult {
  const message = 'the grader was not run';
  const ending = { kind: 'not_started', errno: 'ECANCELED', message } as const;
  const nothing = { durationMs: 0, escapedProcesses: 0, backgroundProcesses: 0 };
  return { result: { ending, stdout: nothingCaptured, stderr: nothingCaptured, ...nothing }, grade };
}
