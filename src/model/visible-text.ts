/**
 * Operators read text of the policy and of trainers (arguments, names, errors) in a terminal or a browser. Some characters are
 * orders there (move up, rewrite a line, set the clipboard), and others turn text around or hide in it. All of them are
 * shown as JSON writes them: control characters of C0 and C1, formats (bidirectional text, zero width), separators of lines
 * and of paragraphs, halves of pairs. In JSON they occur in strings only, so the data stays the same.
 */
const orders = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Most text has none, and the others little: only these stretches are searched for orders, which takes three times as long. */
const beyondAscii = /[^ -~]+/g;

/** One line: a line break is an order, too. */
export const visibleLine = (text: string): string =>
  text.replaceAll(beyondAscii, (stretch) => stretch.replaceAll(orders, escaped));

/** Our own lines: who puts words of others among them has made each one line. */
export const visibleLines = (text: string): string => text.split('\n').map(visibleLine).join('\n');

const escaped = (character: string): string =>
  Array.from({ length: character.length }, (_, at) => unit(character.charCodeAt(at))).join('');

const unit = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;
