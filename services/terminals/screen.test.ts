import { expect, test } from 'vitest';
import { Screen } from './screen.ts';

const screenWith = async (text: string, size = { rows: 5, columns: 20 }) => {
  const answers: string[] = [];
  const screen = new Screen(size, (answer) => answers.push(answer));
  await screen.write(text);
  return { screen, answers };
};

test('the text has no spaces at the ends of lines and no empty lines at its end', async () => {
  const { screen } = await screenWith('one  \r\n\r\n\u001B[31mtwo\u001B[0m   \r\n\r\n');
  expect(screen.text()).toBe('one\n\ntwo');
  expect(screen.cursor).toEqual({ line: 5, column: 1 });
});

test('lines that have scrolled off are there if asked for, at most as many as are kept', async () => {
  const { screen } = await screenWith(Array.from({ length: 2000 }, (_, line) => `line ${line}\r\n`).join(''));
  expect(screen.text()).toBe('line 1996\nline 1997\nline 1998\nline 1999');
  expect(screen.text(2).split('\n')[0]).toBe('line 1994');
  expect(screen.text(5000).split('\n')).toHaveLength(1004);
});

test('text since a mark is what was printed after it', async () => {
  const { screen } = await screenWith('$ ');
  const mark = screen.mark();
  await screen.write('echo a\r\na\r\n$ ');
  expect(screen.textSince(mark)).toBe('echo a\na\n$');
});

test('a mark that was cleared, has scrolled out of what is kept, or is in a full-screen program counts as none', async () => {
  const { screen } = await screenWith('\r\n\r\n$ ');
  const cleared = screen.mark();
  await screen.write('\u001B[2J\u001B[Hnew');
  expect(screen.textSince(cleared)).toBe('new');
  const gone = screen.mark();
  await screen.write('x\r\n'.repeat(1200));
  expect(screen.textSince(gone)).toBe('x\nx\nx\nx');
  const before = screen.mark();
  await screen.write('\u001B[?1049h\u001B[Hfull');
  expect(screen.textSince(before)).toBe('full');
  expect(screen.mark()).toBeNull();
});

test('accents without end become a few, also across writes of one cell', async () => {
  const { screen } = await screenWith(`e${'\u0301'.repeat(10_000)}`);
  expect(screen.text().length).toBeLessThan(20);
});

test('a program gets answers to its questions, and learns whether to expect application keys', async () => {
  const { screen, answers } = await screenWith('ab\u001B[6n\u001B[c\u001B[?1h');
  expect(answers.join('')).toBe('\u001B[1;3R\u001B[?1;2c');
  expect(screen.keyMode).toEqual({ hasApplicationCursor: true });
});
