/**
 * A text without what differs between a page and a copy of it: how letters are composed, white space, and how quotes and dashes are
 * drawn. Letters and digits stay as they are, because another digit is another fact.
 */
export function folded(text: string): string {
  return text
    .normalize('NFC')
    .replaceAll(/[\u2018\u2019\u201A\u2032]/g, "'")
    .replaceAll(/[\u201C\u201D\u201E\u2033\u00AB\u00BB]/g, '"')
    .replaceAll(/[\u2010-\u2015\u2212]/g, '-')
    .replaceAll(/\s+/gu, ' ')
    .trim();
}

/** Whether the source contains the quote, word for word. */
export const isQuoted = (quote: string, source: string): boolean => {
  const wanted = folded(quote);
  return wanted !== '' && folded(source).includes(wanted);
};
