import { readFileSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Environment, EnvironmentCatalog } from '../model/environment.ts';
import { createCatalog } from './catalog.ts';
import { compileEnvironment } from './compile/environment.ts';
import type { Folder } from './compile/folder.ts';
import { EnvironmentMistakes } from './mistakes.ts';
import type { Mistake, Report } from './mistakes.ts';
import { checkPolicy, openPolicy, permit } from './policy.ts';
import type { OperatorPolicy } from './policy.ts';
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
  { policy = openPolicy }: { readonly policy?: OperatorPolicy } = {},
): Promise<EnvironmentCatalog> {
  const mistakes: Mistake[] = [];
  const loaded: Loaded[] = [];
  for (const file of await yamlFiles(folder)) {
    const source = new YamlSource(file, await readFile(file, 'utf8'));
    const environment = compileSource(source, policy, mistakes);
    if (environment !== null) loaded.push({ source, environment });
  }
  mistakes.push(...repeatedNames(loaded));
  if (mistakes.length > 0) throw new EnvironmentMistakes(mistakes);
  return createCatalog(loaded.map(({ environment }) => environment));
}

type Loaded = { readonly source: YamlSource; readonly environment: Environment };

async function yamlFiles(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => /\.ya?ml$/.test(name)).sort();
  if (names.length > 0) return names.map((name) => join(folder, name));
  const message = 'holds no environment; put at least one .yaml file there, or name another folder';
  throw new EnvironmentMistakes([{ file: folder, line: 1, path: '', message }]);
}

/** The environment, or null where the file has not even the right shape; mistakes of both kinds are added. */
function compileSource(source: YamlSource, policy: OperatorPolicy, mistakes: Mistake[]): Environment | null {
  mistakes.push(...source.syntaxMistakes);
  if (source.syntaxMistakes.length > 0) return null;
  const report: Report = (path, message) => mistakes.push(source.mistake(path, message));
  if (!hasShape(source.value, report)) return null;
  const environment = compileEnvironment(source.value, folderOf(source.file), report);
  checkPolicy(environment, policy, report);
  return permit(environment, policy);
}

function repeatedNames(loaded: readonly Loaded[]): readonly Mistake[] {
  return loaded.flatMap(({ source, environment: { name } }, index) => {
    const first = loaded.slice(0, index).find(({ environment }) => environment.name === name);
    return first === undefined ? [] : [source.mistake(['name'], `is taken by ${first.source.file}`)];
  });
}

function folderOf(file: string): Folder {
  const absolute = (path: string) => resolve(dirname(file), path);
  return {
    absolute,
    text: (path) => readIfThere(absolute(path)),
    isFolder: (path) => statSync(absolute(path), { throwIfNoEntry: false })?.isDirectory() ?? false,
  };
}

/** Why a file cannot be read makes no difference to the sentence: its author sees the name. */
function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
