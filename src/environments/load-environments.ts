import { join } from 'node:path';
import type { MachineAmounts } from '../model/amounts.ts';
import type { PoolOverrides } from '../model/pool-places.ts';
import type { Environment, EnvironmentCatalog } from '../model/environment.ts';
import { compileEnvironment } from './compile/environment.ts';
import { FilesRead, type Folder, folderOf } from './files-read.ts';
import { EnvironmentMistakes, type Mistake, type Report } from './mistakes.ts';
import { onMachine, permit } from './permit.ts';
import { checkPolicy, compilePolicy, openPolicy, type OperatorPolicy } from './policy.ts';
import { EnvironmentSchema } from './schema/environment.ts';
import { PolicySchema } from './schema/operator.ts';
import { fileCheck } from './schema/validate.ts';
import { operatorFile, YamlSource } from './yaml-source.ts';

const hasShape = fileCheck(EnvironmentSchema);

/**
 * All environments of a folder (`*.yaml`, not below it), checked against the operator's policy. Throws one
 * {@link EnvironmentMistakes} that lists everything wrong in all of them, by file and line.
 */
export async function loadEnvironments(
  folder: string,
  { policy = openPolicy, files = new FilesRead() }: Loading = {},
): Promise<EnvironmentCatalog> {
  const mistakes: Mistake[] = [];
  const loaded: Loaded[] = [];
  for (const file of await yamlFiles(folder, files)) {
    const source = new YamlSource(file, await files.text(file));
    const environment = compileSource(source, { policy, folder: folderOf(file, files) }, mistakes);
    if (environment !== null) loaded.push({ source, environment });
  }
  mistakes.push(...repeatedNames(loaded));
  if (mistakes.length > 0) throw new EnvironmentMistakes(mistakes);
  return createCatalog(
    loaded.map(({ environment }) => environment),
    policy,
  );
}

/** `files`: what was read is remembered there. */
type Loading = { readonly policy?: OperatorPolicy; readonly files?: FilesRead };
type Loaded = { readonly source: YamlSource; readonly environment: Environment };

/** Names that begin with a dot are an editor's or the kubelet's own. */
async function yamlFiles(folder: string, files: FilesRead): Promise<readonly string[]> {
  const names = (await files.names(folder)).filter((name) => /^[^.].*\.ya?ml$/.test(name));
  if (names.length > 0) return names.map((name) => join(folder, name));
  const message = 'holds no environment; put at least one .yaml file there, or name another folder';
  throw new EnvironmentMistakes([{ file: folder, line: 1, path: '', message }]);
}

/** The environment, or null where the file has not even the right shape; mistakes of both kinds are added. */
function compileSource(
  source: YamlSource,
  { policy, folder }: { readonly policy: OperatorPolicy; readonly folder: Folder },
  mistakes: Mistake[],
): Environment | null {
  mistakes.push(...source.syntaxMistakes);
  if (source.syntaxMistakes.length > 0) return null;
  const report: Report = (path, message) => mistakes.push(source.mistake(path, message));
  if (!hasShape(source.value, report)) return null;
  const environment = compileEnvironment(source.value, folder, report);
  checkPolicy(environment, policy, report);
  return permit(environment, policy);
}

function repeatedNames(loaded: readonly Loaded[]): readonly Mistake[] {
  return loaded.flatMap(({ source, environment: { name } }, index) => {
    const first = loaded.slice(0, index).find(({ environment }) => environment.name === name);
    return first === undefined ? [] : [source.mistake(['name'], `is taken by ${first.source.file}`)];
  });
}

/** Where sandboxes are. `machine`: what this machine has, if they are on it. */
export type Site = { readonly machine?: MachineAmounts; readonly poolOverrides?: PoolOverrides };

/**
 * All environments of a folder, within what the operator's policy file allows; null: everything is allowed. Throws `EnvironmentMistakes` that list what is wrong in the policy, else what is wrong in
 * the environments. What was read is remembered in `files`.
 */
export async function loadPermitted(
  folder: string,
  policyFile: string | null,
  { files = new FilesRead(), machine = {}, poolOverrides = new Map() }: Omit<Loading, 'policy'> & Site = {},
): Promise<EnvironmentCatalog> {
  if (policyFile !== null) files.textNow(policyFile);
  const policy = policyFile === null ? openPolicy : await loadPolicy(policyFile);
  return loadEnvironments(folder, { policy: { ...onMachine(policy, machine), poolOverrides }, files });
}

const readPolicy = operatorFile(PolicySchema, "the operator's policy file, or none");

/** The operator's policy file. Throws `EnvironmentMistakes` that list everything wrong in it. */
export const loadPolicy = async (file: string): Promise<OperatorPolicy> =>
  compilePolicy(await readPolicy(file));

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
