import type { Dependency } from '#src/model/dependency.ts';
import type { Path, Report } from '../mistakes.ts';
import type { ToolYaml } from '../schema/environment.ts';

/** A tool of an environment's file, as it is compiled. */
export type ToolInHand = {
  readonly name: string;
  readonly yaml: ToolYaml;
  readonly place: Path;
  readonly expose: readonly string[];
  readonly report: Report;
};

/** Often enough that a failure of some seconds is seen, and nothing for a backend that serves a whole run. */
const defaultEveryS = 5;

/** What a command tool depends on, if the file says so. */
export function compileDependency(inHand: ToolInHand): { readonly dependency?: Dependency } {
  const { yaml, place, report } = inHand;
  if (yaml.dependency === undefined) {
    if (yaml.idempotent !== undefined)
      report([...place, 'idempotent'], 'is for tools with a dependency; leave it out');
    return {};
  }
  const { exit_code, probe, every_s = defaultEveryS } = yaml.dependency;
  const mistake = probeMistake(probe);
  if (mistake !== null) report([...place, 'dependency', 'probe'], mistake);
  const idempotent = yaml.idempotent ?? false;
  return { dependency: { exitCodes: [exit_code].flat(), probe, everyMs: every_s * 1_000, idempotent } };
}

/**
 * The address is the author's, like a judge's: the gateway sends it no secret and no word of a rollout, and nothing that it answers but
 * its status is looked at. It is published with the environment, so it may hold no password.
 */
function probeMistake(probe: string): string | null {
  const url = URL.canParse(probe) ? new URL(probe) : null;
  if (url === null || url.hostname === '') return 'must be http://…, https://… or tcp://host:port';
  if (url.username !== '' || url.password !== '')
    return 'must not hold a user or a password, because it is kept with the environment; probe an address that needs none';
  const hasMore = url.search !== '' || url.hash !== '' || !['', '/'].includes(url.pathname);
  if (url.protocol === 'tcp:' && (url.port === '' || hasMore))
    return 'must be tcp://host:port, and nothing behind the port';
  return null;
}

export function refuseDependency({ yaml, place, report }: ToolInHand, because: string): void {
  for (const field of ['dependency', 'idempotent'] as const) {
    if (yaml[field] !== undefined) report([...place, field], `is for commands: ${because}; leave it out`);
  }
}
