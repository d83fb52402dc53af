import { commandEnv } from '../command/command-env.ts';
import type { Daemon } from '../daemon.ts';
import { placesOf, policyIds, surelyRuns } from './permissions.ts';

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
  const who = policyIds(config);
  const doubtful = programs.filter(
    (program) => !placesOf(program, PATH, config.workspace).some((place) => surelyRuns(who, place)),
  );
  if (doubtful.length === 0) return [];
  const { askHelper } = await import('../helper/run.ts');
  const { missing } = await askHelper(config, 'policy', ['missing', PATH, ...doubtful], longestMs);
  if (hasRun(daemon) || !Array.isArray(missing)) return [];
  return doubtful.filter((_, index) => missing.includes(index));
}

/** A call that is not of the setup, whose ids hold a space. */
export function hasRun({ journal }: Daemon): boolean {
  return journal.list().some(({ callId }) => !callId.includes(' '));
}
