import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { screenOver } from '../top/screen.ts';
import { screenFrame } from './frame.ts';

const size = { columns: 40, rows: 6 };
const shown = (screen: string, agoMs = 0) => ({
  told: { answer: { screen, reason: null }, agoMs },
  trouble: null,
});
const textOf = (lines: ReturnType<typeof screenFrame>) =>
  lines.map((line) => line.map(({ text }) => text).join(''));

it('shows the state of a terminal and its screen, cut to the size of this one', () => {
  const screen = `[terminal 1: running]\n$ ls\n${'x'.repeat(50)}\n\nlast\nbelow\n`;
  expect(textOf(screenFrame('r-1', shown(screen), size))).toEqual([
    'rollout r-1 · read only, q ends',
    '[terminal 1: running]',
    '$ ls',
    `${'x'.repeat(39)}…`,
    '',
    'last',
  ]);
});

it('says why there is nothing to show, how old it is, and what went wrong', () => {
  const none = {
    told: { answer: { screen: null, reason: 'Error: no terminal is open\n' }, agoMs: 0 },
    trouble: null,
  };
  expect(textOf(screenFrame('r', none, size)).at(-1)).toBe('no terminal to show: Error: no terminal…');
  expect(textOf(screenFrame('r', shown('s\n', 7_200), size))).toEqual([
    'rollout r · read only, q ends',
    'as it was 7 s ago',
    's',
  ]);
  expect(textOf(screenFrame('r', { ...shown('s\n'), trouble: 'trying again' }, size))[1]).toBe(
    'trying again',
  );
  expect(textOf(screenFrame('r', { told: null, trouble: null }, size))[1]).toBe('asking');
});

/** A server that the policy has put in place of the real one sends whatever it likes. */
const hostile = [
  ['sets the clipboard', '\u001B]52;c;aGFja2Vk\u0007'],
  ['sets the title', '\u001B]0;owned\u001B\\'],
  ['sets the title with C1', '\u009D0;owned\u009C'],
  ['asks the terminal', '\u001B[6n\u001B[c\u0005'],
  ['leaves the screen', '\u001B[?1049l\u001Bc'],
  ['moves and erases', '\r\b\u001B[2J\u001B[H'],
  ['turns text around', '\u202Egnp.exe'],
  ['has half a character', '\uD800'],
] as const;

const ordersIn = (text: string) => text.match(/\p{Cc}|\p{Cf}|\p{Cs}/gu);

it.each(hostile)('a screen that %s only prints', (_, orders) => {
  const written: string[] = [];
  const output = Object.assign(new EventEmitter(), {
    isTTY: true,
    ...size,
    write: (text: string) => void written.push(text),
  });
  const input = Object.assign(new EventEmitter(), {
    isTTY: false,
    setRawMode: () => {},
    resume: () => {},
    pause: () => {},
  });
  const screen = screenOver({ input, output, signals: new EventEmitter(), inColour: true });
  const open = screen.open({ onEnd: () => {}, onResize: () => {} });
  const draw = (text: string) => {
    written.length = 0;
    open.draw(screenFrame('r', shown(`${text}\n`), { columns: 200, rows: 6 }));
    return written.join('');
  };
  expect(ordersIn(orders)).not.toBeNull();
  expect(ordersIn(draw(`before${orders}after`))).toEqual(ordersIn(draw('before and after')));
});
