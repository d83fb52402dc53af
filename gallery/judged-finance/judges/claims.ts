import { folded } from './fold.ts';

/** A line of a memo that says something: its words, what it quotes, and the pages that it cites. */
export type Claim = {
  readonly words: string;
  readonly quote: string | null;
  readonly cited: readonly string[];
};

/** Far more than a memo needs; the rest of a longer one is not read. */
const mostCharacters = 20_000;

/** Every line that is not empty: a line without quote or citation is a claim, too, and one without proof. */
export function claimsIn(memo: string): readonly Claim[] {
  const lines = folded(memo.slice(0, mostCharacters).replaceAll('\n', ' \u0000 ')).split('\u0000');
  return lines.flatMap((line) => (line.trim() === '' ? [] : [claimOf(line.trim())]));
}

function claimOf(line: string): Claim {
  const quotes = [...line.matchAll(/"([^"]*)"/g)];
  const citations = [...line.matchAll(/\[([^\]]*)\]/g)];
  const found = [...quotes, ...citations].map(([text]) => text);
  return {
    words: found.reduce((rest, text) => rest.replace(text, ' '), line),
    quote: quotes.length === 1 ? (quotes[0]?.[1] ?? null) : null,
    cited: citations.map(([, path = '']) => path.trim()),
  };
}

/** Numbers as they are written, without signs and currencies. */
export const numbersIn = (words: string): readonly string[] => words.match(/\d+(?:\.\d+)?/g) ?? [];
