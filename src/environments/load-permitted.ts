import type { EnvironmentCatalog } from '../model/environment.ts';
import { loadEnvironments } from './load-environments.ts';
import { loadPolicy } from './load-policy.ts';

/**
 * All environments of a folder, within what the operator's policy file allows; null: everything is allowed. Throws
 * `EnvironmentMistakes` that list what is wrong in the policy, else what is wrong in the environments.
 */
export async function loadPermitted(folder: string, policyFile: string | null): Promise<EnvironmentCatalog> {
  if (policyFile === null) return loadEnvironments(folder);
  return loadEnvironments(folder, { policy: await loadPolicy(policyFile) });
}
