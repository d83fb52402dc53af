import { readFile } from 'node:fs/promises';
import type { Static, TSchema } from 'typebox';
import { EnvironmentMistakes, type Mistake } from './mistakes.ts';
import { fileCheck } from './schema/validate.ts';
import { YamlSource } from './yaml-source.ts';

/**
 * A reader of one of the operator's files; `meaning` names it to a person. One that is named and cannot be read is a
 * mistake, never an empty one: who named it wants it to hold. Throws {@link EnvironmentMistakes} that list everything
 * wrong in it.
 */
export function operatorFile<Schema extends TSchema>(
  schema: Schema,
  meaning: string,
): (file: string) => Promise<Static<Schema>> {
  const hasShape = fileCheck(schema);
  return async (file) => {
    const source = new YamlSource(file, await readText(file, meaning));
    const mistakes: Mistake[] = [...source.syntaxMistakes];
    const { value } = source;
    const fits = hasShape(value, (path, message) => mistakes.push(source.mistake(path, message)));
    if (!fits || mistakes.length > 0) throw new EnvironmentMistakes(mistakes);
    return value;
  };
}

async function readText(file: string, meaning: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const message = `cannot be read (${reason}); name ${meaning}`;
    throw new EnvironmentMistakes([{ file, line: 1, path: '', message }]);
  });
}
