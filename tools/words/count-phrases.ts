/** `read`: what users read: docs, the CLI, charts, and the sources of generated pages. `code`: all else, its comments and tests. */
export type Scope = 'read' | 'code';

/** By phrase, how often it occurs. */
export type Counts = Readonly<Record<Scope, Readonly<Record<string, number>>>>;

export type TextFile = { readonly path: string; readonly text: string };

const readByUsers =
  /^(?:[^/]+\.md|docs\/.*|charts\/.*|cli\/.*|infra\/monitoring\/.*|src\/failure\/meanings\/.*|src\/adapters\/prometheus\/catalogue\/.*)$/u;

export function scopeOf(path: string): Scope {
  return readByUsers.test(path) && !path.endsWith('.test.ts') ? 'read' : 'code';
}

/** Counts whole words in any case. The words of a phrase may be on two lines of a comment. */
export function countPhrases(phrases: readonly string[], files: readonly TextFile[]): Counts {
  const counts: Record<Scope, Record<string, number>> = { read: {}, code: {} };
  for (const { path, text } of files) {
    const words = ` ${text
      .toLowerCase()
      .replaceAll('’', "'")
      .replaceAll("'s", '')
      .split(/[^a-z'-]+/u)
      .join(' ')} `;
    const inScope = counts[scopeOf(path)];
    for (const phrase of phrases)
      inScope[phrase] = (inScope[phrase] ?? 0) + occurrences(words, ` ${phrase} `);
  }
  return counts;
}

/** Neighbors may share the blank between them. */
function occurrences(words: string, phrase: string): number {
  let count = 0;
  for (let at = words.indexOf(phrase); at !== -1; at = words.indexOf(phrase, at + 1)) count += 1;
  return count;
}

export type Excess = {
  readonly scope: Scope;
  readonly phrase: string;
  readonly now: number;
  readonly most: number;
};

/** Phrases that occur more often than recorded. */
export function excesses(now: Counts, recorded: Counts): readonly Excess[] {
  return (['read', 'code'] as const).flatMap((scope) =>
    Object.entries(now[scope]).flatMap(([phrase, count]) => {
      const most = recorded[scope][phrase] ?? 0;
      return count > most ? [{ scope, phrase, now: count, most }] : [];
    }),
  );
}

/** The recorded counts, lowered where there are fewer now. */
export function lowered(now: Counts, recorded: Counts): Counts {
  const lower = (scope: Scope) =>
    Object.fromEntries(
      Object.entries(now[scope]).map(([phrase, count]) => [
        phrase,
        Math.min(count, recorded[scope][phrase] ?? count),
      ]),
    );
  return { read: lower('read'), code: lower('code') };
}
