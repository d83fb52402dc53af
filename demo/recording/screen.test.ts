import { expect, test } from 'vitest';
import { animationOf } from './animation.ts';
import { framesOf } from './cast.ts';
import { Screen } from './screen.ts';

const shown = (text: string) => {
  const screen = new Screen();
  screen.write(text);
  return screen.rows.map((row) => row.map(({ letter }) => letter).join(''));
};
const esc = '\u001B[';

test('a block that is drawn again over itself is shown once', () => {
  expect(shown(`one\r\ntwo\r\n${esc}2A${esc}2KONE\r\n${esc}2Ktwo\r\n`)).toEqual(['ONE', 'two', '']);
});

test('a screen that is drawn from its home has its last picture, also after the program gave it back', () => {
  const first = `${esc}?1049h${esc}?25l${esc}Hlong line${esc}K${esc}J`;
  expect(shown(`${first}${esc}Hline${esc}K${esc}J${esc}?25h${esc}?1049lshell`)).toEqual(['line']);
});

test('an order that arrives in two pieces is obeyed once whole', () => {
  const screen = new Screen();
  for (const piece of ['one\r\n\u001B', '[1', 'Atwo']) screen.write(piece);
  expect(screen.rows[0]?.map(({ letter }) => letter).join('')).toBe('two');
});

test('an order that the screen does not know is an error, and no wrong picture', () => {
  expect(() => shown(`${esc}3T`)).toThrow('unknown order');
});

const events = [
  [0.1, 'o', 'waits\r\n'],
  [4, 'o', `done\r\n${esc}31mlost${esc}0m\r\nsummary 2\r\nsummary 3`],
];
const cast = [{ version: 2 }, ...events].map((line) => JSON.stringify(line)).join('\n');
const options = { rows: 2, stepSeconds: 1, speed: 2, pageSeconds: 5 };

test('equal pictures are one, and output longer than the screen is shown page by page', () => {
  const frames = framesOf(cast, options);
  expect(frames.map(({ seconds }) => seconds)).toEqual([2, 5, 5]);
  const last = frames.at(-1)?.rows.map((row) => row.map(({ letter }) => letter).join(''));
  expect(last).toEqual(['summary 2', 'summary 3']);
});

test('an animation draws an equal line once, colors a loss, and stands still for readers who want that', () => {
  const svg = animationOf(framesOf(cast, options), { columns: 20, rows: 2, footer: 'Corral <1>' });
  expect(svg.match(/<text id=/g)).toHaveLength(5);
  expect(svg).toContain('<tspan class="r">lost</tspan>');
  expect(svg).toContain('Corral &lt;1&gt;');
  expect(svg).toContain('prefers-reduced-motion');
  expect(svg).not.toContain('<script');
});
