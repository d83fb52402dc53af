import type { AliasStore, Named } from '#src/ports/fleet/aliases.ts';
import { environmentsKeptMs } from './environment-store.ts';
import { textOf } from './reply.ts';
import type { RunScript } from './script-runner.ts';

/** One for each task of a large data set, some 300 B each. */
export const mostAliases = 10_000;

export function aliasStore(run: RunScript): AliasStore {
  return {
    name: async (tenant, alias, named) =>
      (await run(
        'name-image',
        encodeURIComponent(tenant),
        alias,
        JSON.stringify(named),
        mostAliases,
        environmentsKeptMs,
      )) === 1,
    named: async (tenant, alias) => {
      const text = await run('named-image', encodeURIComponent(tenant), alias, environmentsKeptMs);
      return text === null ? null : (JSON.parse(textOf(text)) as Named);
    },
  };
}
