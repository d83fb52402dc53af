import { escaped } from '#cli/drawing/page.ts';
import type { Frame } from './cast.ts';
import type { Cell, Row } from './screen.ts';

export type Look = { readonly columns: number; readonly rows: number; readonly footer: string };

const letterPx = 7.23;
const linePx = 17;
const marginPx = 14;

/** The colors of `corral top` on the dark ground of a terminal: bold titles, and whose failure it was. */
const styles: Readonly<Record<number, string>> = { 1: 't', 31: 'r', 33: 'y', 36: 'c' };

/** One SVG without a script: the pictures stand below each other, and CSS moves them past a window. */
export function animationOf(frames: readonly Frame[], { columns, rows, footer }: Look): string {
  const width = Math.ceil(columns * letterPx) + 2 * marginPx;
  const height = rows * linePx;
  const whole = height + 3 * marginPx + linePx;
  const lines = new Map<string, number>();
  const strip = frames.map(({ rows: shown }, index) =>
    shown.map((row, line) => use(row, index * height + (line + 1) * linePx - 4, lines)).join(''),
  );
  const definitions = [...lines].map(([line, id]) => `<text id="l${id}">${line}</text>`).join('\n');
  return `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 ${width} ${whole}" role="img">
<title>${escaped(footer)}</title>
<style>${styleOf(frames, height)}</style>
<defs>${definitions}</defs>
<rect width="${width}" height="${whole}" rx="8" fill="#16181b"/>
<svg x="${marginPx}" y="${marginPx}" width="${width - marginPx}" height="${height}"><g class="strip">
${strip.join('\n')}
</g></svg>
<text x="${marginPx}" y="${whole - marginPx}" class="foot">${escaped(footer)}</text>
</svg>
`;
}

/** A line that is shown before is drawn once and used again. */
function use(row: Row, y: number, lines: Map<string, number>): string {
  const line = spansOf(row);
  if (line.trim() === '') return '';
  const id = lines.get(line) ?? lines.size;
  lines.set(line, id);
  return `<use href="#l${id}" y="${y}"/>`;
}

function spansOf(row: Row): string {
  const spans: { color: number; text: string }[] = [];
  for (const { letter, color } of row) {
    const last = spans.at(-1);
    if (last?.color === color) last.text += letter;
    else spans.push({ color, text: letter });
  }
  return spans.map(({ color, text }) => spanOf({ letter: text, color })).join('');
}

function spanOf({ letter, color }: Cell): string {
  const style = styles[color];
  return style === undefined ? escaped(letter) : `<tspan class="${style}">${escaped(letter)}</tspan>`;
}

/** Readers who want no motion, and programs that show none, get how it ended. */
function styleOf(frames: readonly Frame[], height: number): string {
  const seconds = frames.reduce((sum, frame) => sum + frame.seconds, 0);
  let at = 0;
  const steps = frames.map((frame, index) => {
    const step = `${((at / seconds) * 100).toFixed(2)}%{transform:translateY(-${index * height}px)}`;
    at += frame.seconds;
    return step;
  });
  return `text{font:12px "DejaVu Sans Mono",Menlo,Consolas,monospace;fill:#e4e6e9;white-space:pre}.foot{fill:#969ea9}
.t{font-weight:700}.r{fill:#ff8078}.y{fill:#e0b04a}.c{fill:#6fc3d6}
.strip{transform:translateY(-${frames.findIndex(({ isEnd }) => isEnd) * height}px)}
@media (prefers-reduced-motion:no-preference){.strip{animation:play ${seconds.toFixed(1)}s step-end infinite}}
@keyframes play{${steps.join('')}}`;
}
