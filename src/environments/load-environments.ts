import { dirname, join, resolve } from 'node:path';
import type { Environment, EnvironmentCatalog } from '../model/environment.ts';
import { createCatalog } from './catalog.ts';
import { compileEnvironment } from './compile/environment.ts';
import type { Folder } from './compile/folder.ts';
import { FilesRead } from './files-read.ts';
import { EnvironmentMistakes, type Mistake, type Report } from './mistakes.ts';
import { checkPolicy, openPolicy, type OperatorPolicy, permit } from './policy.ts';
import { EnvironmentSchema } from './schema/environment.ts';
import { fileCheck } from './schema/validate.ts';
import { YamlSource } from './yaml-source.ts';

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

/** The files around a YAML file. */
export function folderOf(file: string, files: FilesRead): Folder {
  const absolute = (path: string) => resolve(dirname(file), path);
  return {
    absolute,
    text: (path) => files.textNow(absolute(path)),
    isFolder: (path) => files.isFolder(absolute(path)),
    foldersIn: (path) => files.foldersIn(absolute(path)),
    filesBelow: (path) => files.filesBelow(absolute(path)),
    tree: (path) => files.treeNow(absolute(path)),
  };
}
