/** So much of what a stranger wrote fits into a sentence. */
const mostCharacters = 300;

/** Words of a program or a registry as data: on one line, bounded, in quotes. Empty for none. */
export function quoted(words: string): string {
  if (words === '') return '';
  return `; it wrote ${JSON.stringify(words.slice(-mostCharacters))}`;
}
