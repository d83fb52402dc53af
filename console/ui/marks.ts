import type { Why } from '#src/protocol/console/rollout.ts';
import { visibleText } from './door.ts';

export type Mark = { readonly text: string; readonly how: 'right' | 'missing' | 'not asked for' };

/** An answer against its reference, entry by entry; null: they are not two lists of texts. */
export function marksOf({ answer, reference }: Why): readonly Mark[] | null {
  const [given, wanted] = [onlyListIn(answer), onlyListIn(reference)];
  if (given === null || wanted === null) return null;
  const marks = new Map<string, Mark>();
  const answered = new Set(given);
  for (const text of wanted) marks.set(text, { text, how: answered.has(text) ? 'right' : 'missing' });
  for (const text of given) if (!marks.has(text)) marks.set(text, { text, how: 'not asked for' });
  return [...marks.values()];
}

/** Of several texts it is not known which belongs to which. */
function onlyListIn(texts: Readonly<Record<string, string>>): readonly string[] | null {
  const [only, ...others] = Object.values(texts);
  return only === undefined || others.length > 0 ? null : listIn(only);
}

/** Escapes that were made visible are read as characters here, so that what a text holds is made visible again. */
function listIn(text: string): readonly string[] | null {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.every((each) => typeof each === 'string')
      ? value.map(visibleText)
      : null;
  } catch {
    return null;
  }
}
