import type { Environment, EnvironmentCatalog } from '../model/environment.ts';
import { checkPolicy, openPolicy, type OperatorPolicy, permit } from './policy.ts';

/** Environments by name and version, and the policy they were loaded under. Of several with one name, the last counts as the newest. */
export function createCatalog(
  environments: readonly Environment[],
  policy: OperatorPolicy = openPolicy,
): EnvironmentCatalog {
  const byName = new Map(environments.map((environment) => [environment.name, environment]));
  const byVersion = new Map(environments.map((environment) => [environment.version, environment]));
  return {
    newest: (name) => byName.get(name),
    byVersion: (version) => byVersion.get(version),
    all: () => environments,
    permitted: (environment) => {
      const refused: string[] = [];
      checkPolicy(environment, policy, (path, message) => refused.push(`${path.join('.')} ${message}`));
      if (refused.length > 0) return { kind: 'refused', because: refused.join('; ') };
      return { kind: 'permitted', environment: permit(environment, policy) };
    },
  };
}
