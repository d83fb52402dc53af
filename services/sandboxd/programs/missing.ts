import { realpathSync, statSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { commandEnv } from '../command/command-env.ts';
import type { Config } from '../config.ts';
import type { Daemon } from '../daemon.ts';
import { processUser } from '../users.ts';
import { foldersAbove, placesOf } from './where.ts';

/** A helper takes a tenth of a second; the rest is for a burst. */
const longestMs = 20_000;

/**
 * Those of the programs that the command's user could not run here. Only before the first command: what is missing later the
 * policy may have removed. What the permissions show, as they mostly do, costs no process; where they leave a doubt, and a
 * program that seems to be missing is one, the user itself looks. Throws `internal`.
 */
export async function missingPrograms(
  daemon: Daemon,
  programs: readonly string[],
): Promise<readonly string[]> {
  if (hasRun(daemon)) return [];
  const { config, env } = daemon;
  const { PATH = '' } = commandEnv(env, config.workspace);
  const who = whoOf(config);
  const doubtful = programs.filter(
    (program) => !placesOf(program, PATH, config.workspace).some((place) => surelyRuns(place, who)),
  );
  if (doubtful.length === 0) return [];
  const { askHelper } = await import('../helper/ask.ts');
  const { missing } = await askHelper(config, 'policy', ['missing', PATH, ...doubtful], longestMs);
  if (hasRun(daemon) || !Array.isArray(missing)) return [];
  return doubtful.filter((_, index) => missing.includes(index));
}

/** A call of anybody's but the setup, whose ids hold a space. */
function hasRun({ journal }: Daemon): boolean {
  return journal.list().some(({ callId }) => !callId.includes(' '));
}

type Who = { readonly uid: number; readonly gid: number };

function whoOf(config: Config): Who {
  return (
    processUser(config, 'policy').ids ?? { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 }
  );
}

/** By the permission bits alone, of the file and of every folder on the way to it. */
function surelyRuns(place: string, who: Who): boolean {
  try {
    const real = realpathSync(place);
    const file = statSync(real);
    const folders = [...foldersAbove(place), ...foldersAbove(real)];
    return file.isFile() && mayExecute(file, who) && folders.every((each) => mayExecute(statSync(each), who));
  } catch {
    return false;
  }
}

/** Of a folder: may pass through it. Commands are in no group but their own. */
function mayExecute({ mode, uid, gid }: Stats, who: Who): boolean {
  if (uid === who.uid) return (mode & 0o100) !== 0;
  if (gid === who.gid) return (mode & 0o010) !== 0;
  return (mode & 0o001) !== 0;
}
