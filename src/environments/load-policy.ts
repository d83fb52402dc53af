import { readFile } from 'node:fs/promises';
import { EnvironmentMistakes } from './mistakes.ts';
import type { Mistake } from './mistakes.ts';
import { compilePolicy } from './policy.ts';
import type { OperatorPolicy } from './policy.ts';
import { PolicySchema } from './schema/policy.ts';
import { fileCheck } from './schema/validate.ts';
import { YamlSource } from './yaml-source.ts';

const hasShape = fileCheck(PolicySchema);

/** A policy that cannot be read allows nothing: who named one wants it to hold. */
async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const message = `cannot be read (${reason}); name the operator's policy file, or none`;
    throw new EnvironmentMistakes([{ file, line: 1, path: '', message }]);
  });
}

/** The operator's policy file. Throws {@link EnvironmentMistakes} that lists everything wrong in it. */
export async function loadPolicy(file: string): Promise<OperatorPolicy> {
  const source = new YamlSource(file, await readText(file));
  const mistakes: Mistake[] = [...source.syntaxMistakes];
  const { value } = source;
  const fits = hasShape(value, (path, message) => mistakes.push(source.mistake(path, message)));
  if (!fits || mistakes.length > 0) throw new EnvironmentMistakes(mistakes);
  return compilePolicy(value);
}
