import { existsSync } from 'node:fs';
import type { ExecAction } from '#src/protocol/sandboxd/wire.ts';
import type { Config } from '../config.ts';
import { placesOf, policyIds, surelyRuns } from '../programs/permissions.ts';

/**
 * The argv of a command text. Harnesses run such a text with bash in a container, and bash also runs a script without `#!`. So it
 * is bash here too, if the command's user has one on its PATH; permissions decide that without a process.
 */
export function textArgv(
  { argv, preferBash }: Pick<ExecAction, 'argv' | 'preferBash'>,
  folder: string,
  { PATH = '' }: Readonly<Record<string, string>>,
  config: Config,
): readonly string[] {
  if (preferBash !== true || !hasBash(folder, PATH, config)) return argv;
  return ['bash', ...argv.slice(1)];
}

function hasBash(folder: string, path: string, config: Config): boolean {
  const who = policyIds(config);
  return placesOf('bash', path, folder).some((place) => existsSync(place) && surelyRuns(who, place));
}
