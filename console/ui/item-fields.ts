import type { Why } from '#src/protocol/console/rollout.ts';
import { readJson } from './door.ts';

/** A field of a dataset row. */
export type ItemField = {
  readonly name: string;
  readonly text: string;
  /** A grader compares answers with it, or with a part of it. */
  readonly isReference: boolean;
};

/** Null: the row is no object, or the log has only its beginning. */
export function listFields({
  item,
  reference,
}: Pick<Why, 'item' | 'reference'>): readonly ItemField[] | null {
  const row = objectIn(item);
  if (row === null) return null;
  // As environments name them: `item.answer`, or `item.answer.paths`.
  const references = new Set(Object.keys(reference).map((path) => path.split('.')[1]));
  return Object.entries(row).map(([name, value]) => ({
    name,
    text: typeof value === 'string' ? value : JSON.stringify(value),
    isReference: references.has(name),
  }));
}

function objectIn(text: string): object | null {
  try {
    // Parsing turns escapes that were made visible into characters: what the row holds passes the door once more.
    const value = readJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
