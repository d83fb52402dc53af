import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { say } from './lines.ts';
import { screenOver, type Streams } from './screen.ts';

/** A terminal that keeps what is written to it, and whether it hands over each key as it is pressed. */
function fakeTerminal() {
  const state = { written: '', isRaw: false, isPaused: true };
  const input = Object.assign(new EventEmitter(), {
    isTTY: true,
    setRawMode: (isRaw: boolean) => void (state.isRaw = isRaw),
    resume: () => void (state.isPaused = false),
    pause: () => void (state.isPaused = true),
  });
  const output = Object.assign(new EventEmitter(), {
    isTTY: true,
    columns: 80,
    rows: 24,
    write: (text: string) => {
      state.written += text;
      return true;
    },
  });
  const signals = new EventEmitter();
  const streams: Streams = { input, output, signals, inColour: true };
  let ends = 0;
  let resizes = 0;
  const open = screenOver(streams).open({ onEnd: () => (ends += 1), onResize: () => (resizes += 1) });
  return { state, input, output, signals, open, ends: () => ends, resizes: () => resizes };
}

const isGivenBack = ({ state, signals, input, output }: ReturnType<typeof fakeTerminal>) => {
  expect(state.written.endsWith('\u001B[?25h\u001B[?1049l')).toBe(true);
  expect([state.isRaw, state.isPaused]).toEqual([false, true]);
  const listeners = ['SIGINT', 'SIGTERM', 'SIGHUP', 'exit'].map((name) => signals.listenerCount(name));
  expect([...listeners, input.listenerCount('data'), output.listenerCount('resize')]).toEqual([
    0, 0, 0, 0, 0, 0,
  ]);
};

test('the screen is taken with its own page and no cursor, drawn from its corner, and given back as it was', () => {
  const terminal = fakeTerminal();
  expect(terminal.state.written).toBe('\u001B[?1049h\u001B[?25l');
  expect(terminal.state.isRaw).toBe(true);
  terminal.open.draw([[say('one')], [say('two', 'infrastructure')]]);
  expect(terminal.state.written).toContain('\u001B[Hone\u001B[K\r\n\u001B[31mtwo\u001B[0m\u001B[K\u001B[J');
  terminal.open.close();
  terminal.open.close();
  isGivenBack(terminal);
});

test.each([
  ['q', 1],
  ['Q', 1],
  ['\u0003', 1],
  ['\u0004', 1],
  ['x', 0],
  ['\u001B[A', 0],
  ['\u001BOQ', 0],
])('typing %j ends it %i times', (typed, ends) => {
  const terminal = fakeTerminal();
  terminal.input.emit('data', Buffer.from(typed));
  expect(terminal.ends()).toBe(ends);
});

test.each(['SIGINT', 'SIGTERM', 'SIGHUP'])('%s ends it', (signal) => {
  const terminal = fakeTerminal();
  terminal.signals.emit(signal);
  expect(terminal.ends()).toBe(1);
});

test('a terminal that is gone ends it, and what is written after that is no error', () => {
  const terminal = fakeTerminal();
  terminal.input.emit('end');
  terminal.output.emit('error', new Error('EPIPE'));
  terminal.open.close();
  terminal.output.emit('error', new Error('EPIPE'));
  expect(terminal.ends()).toBeGreaterThan(1);
});

test('the end of the process gives the screen back, whatever ended it', () => {
  const terminal = fakeTerminal();
  terminal.signals.emit('exit');
  isGivenBack(terminal);
});

test('a terminal that does not know its size has the usual one', () => {
  const terminal = fakeTerminal();
  terminal.output.columns = 0;
  expect(terminal.open.size()).toEqual({ columns: 80, rows: 24 });
});

test('another size is told', () => {
  const terminal = fakeTerminal();
  terminal.output.emit('resize');
  expect(terminal.resizes()).toBe(1);
});
