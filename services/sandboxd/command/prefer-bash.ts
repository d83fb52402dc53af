import { existsSync } from 'node:fs';
import type { ExecAction } from '#src/protocol/sandboxd/wire.ts';
import type { Config } from '../config.ts';
import { placesOf, policyIds, surelyRuns } from '../programs/permissions.ts';

/**
 * The argv of a text that its caller gave in place of one. Container engines run such a text with bash, and a script without
 * `#!` is then run by bash too. So it is bash here if the command's user finds one on its PATH; permissions show that without a
 * process.
 */
export function textArgv(
  { argv, preferBash }: Pick<ExecAction, 'argv' | 'preferBash'>,
  folder: string,
  { PATH = '' }: Readonly<Record<string, string>>,
  config: Config,
): readonly string[] {
  if (preferBash !== true || !hasBash(folder, PATH, config)) return argv;
  // Sockets are the stdin of commands here, which bash takes for a login over a network: it would read ~/.bashrc.
  return ['bash', '--norc', ...argv.slice(1)];
}

function hasBash(folder: string, path: string, config: Config): boolean {
  const who = policyIds(config);
  return placesOf('bash', path, folder).some((place) => existsSync(place) && surelyRuns(who, place));
}
