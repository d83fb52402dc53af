/** So much of what a stranger wrote fits into a sentence. */
const mostCharacters = 300;

/** Words of a program or a registry as data: on one line, bounded, in quotes, and nothing that a terminal would obey. Empty for none. */
export function quoted(words: string): string {
  if (words === '') return '';
  return `; it wrote ${plain(words.slice(-mostCharacters))}`;
}

/** A stranger's word in quotes: of any length, so its beginning. */
export const shown = (word: string): string => plain(word.slice(0, 100));

/** JSON leaves controls above 127 as they are, and marks that turn the direction of text. */
const plain = (text: string): string => JSON.stringify(text).replaceAll(/\p{C}/gu, '?');
