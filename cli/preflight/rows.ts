import type { Item, Json } from '#src/model/grader.ts';
import { CommandError } from '../command-error.ts';

/** One dataset row, with answers to try on its grader where the file gives them. */
export type Row = {
  readonly item: Item;
  /** An answer that deserves the full score. */
  readonly reference: Json | undefined;
  /** An answer that deserves none: what a policy might try instead of the work. */
  readonly cheating: Json | undefined;
};

/**
 * Rows from JSONL: one item a line. The keys `reference_answer` and `cheating_answer` are answers to try and are not
 * part of the item. Throws a CommandError that names every bad line.
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
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return `line ${number}: not an object`;
  const { reference_answer: reference, cheating_answer: cheating, ...item } = value as Record<string, Json>;
  return { item, reference, cheating };
}
