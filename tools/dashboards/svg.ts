/** A rectangle of a picture, in its pixels. */
export type Box = { readonly x: number; readonly y: number; readonly w: number; readonly h: number };

/** One line of text in one of the picture's colours, from its left or up to its right end. */
export const text = (
  words: string,
  x: number,
  y: number,
  colour: string,
  size: number,
  weight: 400 | 600 = 400,
  anchor: 'start' | 'middle' | 'end' = 'start',
): string =>
  `<text class="${colour}" x="${short(x)}" y="${short(y)}" font-size="${size}"${weight === 400 ? '' : ` font-weight="${weight}"`}${anchor === 'start' ? '' : ` text-anchor="${anchor}"`}>${escaped(words)}</text>`;

/** Tenths of a pixel are enough, and keep the files small. */
export const short = (value: number): number => Math.round(value * 10) / 10;

const escaped = (words: string): string =>
  words.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** Of the letters of the usual sans-serif fonts in bold, the mean width against their size, and a little more. */
const letterWidth = 0.62;

/** Words broken into lines that are not wider than `w`. */
export function linesOf(words: string, w: number, size: number): readonly string[] {
  const most = Math.floor(w / (size * letterWidth));
  const lines: string[] = [];
  for (const word of words.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
