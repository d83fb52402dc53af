/**
 * Text measured as a JSON body carries it: what counts against a trainer's body limit is not the characters but the
 * bytes between the quotes, where a line end takes two and a control character six.
 */

/** Bytes of the text inside JSON quotes. */
export function encodedBytes(text: string): number {
  return Buffer.byteLength(JSON.stringify(text), 'utf8') - 2;
}

/** The longest beginning of the text that takes at most `limit` encoded bytes and splits no character. */
export function headWithin(text: string, limit: number): string {
  let left = limit;
  let end = 0;
  while (end < text.length) {
    const codePoint = text.codePointAt(end) ?? 0;
    left -= encodedBytesOf(codePoint);
    if (left < 0) break;
    end += unitsOf(codePoint);
  }
  return text.slice(0, end);
}

/** The longest end of the text that takes at most `limit` encoded bytes and splits no character. */
export function tailWithin(text: string, limit: number): string {
  let left = limit;
  let start = text.length;
  while (start > 0) {
    const codePoint = codePointBefore(text, start);
    left -= encodedBytesOf(codePoint);
    if (left < 0) break;
    start -= unitsOf(codePoint);
  }
  return text.slice(start);
}

function codePointBefore(text: string, index: number): number {
  const pair = index >= 2 ? (text.codePointAt(index - 2) ?? 0) : 0;
  return pair > 0xff_ff ? pair : text.charCodeAt(index - 1);
}

const unitsOf = (codePoint: number): number => (codePoint > 0xff_ff ? 2 : 1);

/** `"`, `\` and the control characters with a letter of their own: \b \t \n \f \r. */
const shortEscapes = new Set([0x22, 0x5c, 0x08, 0x09, 0x0a, 0x0c, 0x0d]);

function encodedBytesOf(codePoint: number): number {
  if (shortEscapes.has(codePoint)) return 2;
  if (codePoint < 0x20 || isSurrogate(codePoint)) return 6;
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x8_00) return 2;
  return codePoint > 0xff_ff ? 4 : 3;
}

const isSurrogate = (codePoint: number): boolean => codePoint >= 0xd8_00 && codePoint <= 0xdf_ff;
