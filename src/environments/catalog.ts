import type { Environment, EnvironmentCatalog } from '../model/environment.ts';

/** Environments by name and version. Of several with one name, the last counts as the newest. */
export function createCatalog(environments: readonly Environment[]): EnvironmentCatalog {
  const byName = new Map(environments.map((environment) => [environment.name, environment]));
  const byVersion = new Map(environments.map((environment) => [environment.version, environment]));
  return {
    newest: (name) => byName.get(name),
    byVersion: (version) => byVersion.get(version),
    all: () => environments,
  };
}
