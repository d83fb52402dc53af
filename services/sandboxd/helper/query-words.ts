/**
 * What a model looks for, as expressions of SQLite's full-text search: each word in quotes, so that none is an operator and
 * none a mistake of syntax. Text without a word matches nothing.
 */
export const anyWord = (text: string): string => joined(text, ' OR ');
export const allWords = (text: string): string => joined(text, ' AND ');
export const phrase = (text: string): string => `"${wordsIn(text).slice(0, mostWords).join(' ')}"`;

/** A question has twenty; each more is a look into the whole index. */
const mostWords = 64;

function joined(text: string, by: string): string {
  const words = [...new Set(wordsIn(text))].slice(0, mostWords);
  return words.length === 0 ? '""' : words.map((word) => `"${word}"`).join(by);
}

/** As the tokenizers of full-text search find them. */
const wordsIn = (text: string): readonly string[] =>
  text.toLowerCase().match(/[\p{L}\p{N}\p{M}\p{Co}]+/gu) ?? [];
