import type { Environment } from '../../model/environment.ts';
import type { EnvironmentStore } from '../../ports/fleet/registry.ts';
import { listOf, textOf, type Reply } from './reply.ts';
import type { RunScript } from './script-runner.ts';

/** Longer than the pause after which a run would come back to its pinned versions. */
const keptMs = 14 * 24 * 3_600_000;

/** Environments come from our own compiler and are stored as they are, so they are not checked again here. */
export function environmentStore(run: RunScript): EnvironmentStore {
  return {
    publish: async (environment) => {
      await run('publish-environment', environment.version, JSON.stringify(environment), keptMs);
    },
    load: async (version) => {
      const text = await run('load-environment', version, keptMs);
      return text === null ? null : environmentOf(text);
    },
    published: async () => listOf(await run('list-environments', keptMs)).map(environmentOf),
  };
}

function environmentOf(text: Reply): Environment {
  return JSON.parse(textOf(text)) as Environment;
}
