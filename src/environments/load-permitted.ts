import type { EnvironmentCatalog } from '../model/environment.ts';
import { FilesRead } from './files-read.ts';
import { loadEnvironments } from './load-environments.ts';
import { operatorFile } from './operator-file.ts';
import { compilePolicy, type OperatorPolicy } from './policy.ts';
import { PolicySchema } from './schema/policy.ts';

/**
 * All environments of a folder, within what the operator's policy file allows; null: everything is allowed. Throws
 * `EnvironmentMistakes` that list what is wrong in the policy, else what is wrong in the environments. What was read is
 * remembered in `files`.
 */
export async function loadPermitted(
  folder: string,
  policyFile: string | null,
  files: FilesRead = new FilesRead(),
): Promise<EnvironmentCatalog> {
  if (policyFile === null) return loadEnvironments(folder, { files });
  files.textNow(policyFile);
  return loadEnvironments(folder, { policy: await loadPolicy(policyFile), files });
}

const readPolicy = operatorFile(PolicySchema, "the operator's policy file, or none");

/** The operator's policy file. Throws `EnvironmentMistakes` that list everything wrong in it. */
export const loadPolicy = async (file: string): Promise<OperatorPolicy> =>
  compilePolicy(await readPolicy(file));
