import { readFile } from 'node:fs/promises';
import type { Static, TSchema } from 'typebox';
import { type Document, isCollection, isMap, isScalar, LineCounter, type Node, parseDocument } from 'yaml';
import { EnvironmentMistakes, type Mistake, type Path } from './mistakes.ts';
import { fileCheck } from './schema/validate.ts';

/** A YAML file as read: its value, what the parser disliked, and where in the file each place of the value is. */
export class YamlSource {
  readonly file: string;
  /** Where it is no YAML at all, or says one key twice; `value` is undefined then. */
  readonly syntaxMistakes: readonly Mistake[];
  readonly value: unknown;
  readonly #document: Document;
  readonly #lines: LineCounter;

  constructor(file: string, text: string) {
    this.file = file;
    this.#lines = new LineCounter();
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false });
    const errors = this.#document.errors.map(({ pos, message }) => ({ at: pos[0], message }));
    if (errors.length === 0)
      this.value = valueOf(this.#document, (message) => errors.push({ at: 0, message }));
    this.syntaxMistakes = errors.map(({ at, message }) => ({
      file,
      line: this.#lines.linePos(at).line,
      path: '',
      message: `is not valid YAML: ${message}`,
    }));
  }

  mistake(path: Path, message: string): Mistake {
    return { file: this.file, line: this.#lineOf(path), path: path.join('.'), message };
  }

  /** The line of the place, or of the nearest thing around it that exists. */
  #lineOf(path: Path): number {
    let node: unknown = this.#document.contents;
    let start = startOf(node) ?? 0;
    for (const step of path) {
      start = startOf(keyOf(node, step)) ?? start;
      node = isCollection(node) ? node.get(step, true) : undefined;
    }
    return this.#lines.linePos(start).line;
  }
}

/** Aliases that point nowhere, or that unfold to millions of values, show only here. */
function valueOf(document: Document, onError: (message: string) => void): unknown {
  try {
    return document.toJS();
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    onError(error.message);
    return undefined;
  }
}

const startOf = (node: unknown): number | undefined => (node as Node | undefined)?.range?.[0];

/** In a map a mistake is shown at the key, in a list at the element itself. */
function keyOf(node: unknown, step: string | number): unknown {
  if (!isMap(node)) return isCollection(node) ? node.get(step, true) : undefined;
  return node.items.find(({ key }) => isScalar(key) && key.value === step)?.key;
}

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
