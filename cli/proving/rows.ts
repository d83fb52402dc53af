import type { Item, Json } from '#src/model/grader.ts';
import { reservedField } from '#src/model/grader-fields.ts';
import { CommandError } from '../command-error.ts';

/** One dataset row, with answers to try on its grader where the file gives them. */
export type Row = {
  readonly item: Item;
  /** What deserves the full score: an answer, or whatever the reference policy makes it from. */
  readonly reference: Json | undefined;
  /** What deserves nothing: what a policy might try instead of the work. */
  readonly cheating: Json | undefined;
};

/**
 * Rows from JSONL: one item a line. The key `corral: {reference, cheating}` is ours and is not part of the item; all other
 * fields are the row's own, whatever their names. Throws a CommandError that names every bad line.
 */
export function parseRows(text: string, file: string): readonly Row[] {
  const lines = text.split('\n').map((line, index) => ({ line, number: index + 1 }));
  const parsed = lines
    .filter(({ line }) => line.trim() !== '')
    .map(({ line, number }) => parseRow(line, number));
  const mistakes = parsed.filter((row) => typeof row === 'string');
  if (mistakes.length > 0 || parsed.length === 0) {
    const said = parsed.length === 0 ? 'no row' : mistakes.join('; ');
    throw new CommandError(`${file}: ${said}`, 'yours', 'one JSON object a line');
  }
  return parsed.filter((row) => typeof row !== 'string');
}

function parseRow(line: string, number: number): Row | string {
  let value: Json;
  try {
    value = JSON.parse(line) as Json;
  } catch (error) {
    return `line ${number}: ${error instanceof Error ? error.message : 'not JSON'}`;
  }
  if (!isObject(value)) return `line ${number}: not an object`;
  const { [reservedField]: ours = {}, ...item } = value;
  if (!isObject(ours)) return `line ${number}: ${reservedField} must be {reference, cheating}`;
  const { reference, cheating, ...unknown } = ours;
  const [name] = Object.keys(unknown);
  if (name !== undefined)
    return `line ${number}: ${reservedField}.${name} is unknown: there are reference and cheating`;
  return { item, reference, cheating };
}

const isObject = (value: Json): value is Readonly<Record<string, Json>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
