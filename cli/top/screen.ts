import type { EventEmitter } from 'node:events';
import { type Line, paint } from './lines.ts';

/** A terminal as a whole screen, until it is given back. */
export type Screen = {
  /** Only a terminal is drawn on. */
  readonly isTerminal: boolean;
  /**
   * Takes the screen. `onEnd` is called for `q`, Ctrl-C, a signal that ends the process, and when the terminal is gone; `onResize`
   * when it has another size.
   */
  open(listeners: { readonly onEnd: () => void; readonly onResize: () => void }): OpenScreen;
};

export type OpenScreen = {
  size(): { readonly columns: number; readonly rows: number };
  draw(lines: readonly Line[]): void;
  /** Gives it back as it was. May be called more than once. */
  close(): void;
};

type Emitter = Pick<EventEmitter, 'on' | 'off'>;

/** What a screen needs of the process’ streams. */
export type Streams = {
  readonly input: Emitter & {
    readonly isTTY: boolean;
    setRawMode(isRaw: boolean): unknown;
    resume(): unknown;
    pause(): unknown;
  };
  readonly output: Emitter & {
    readonly isTTY: boolean;
    readonly columns: number;
    readonly rows: number;
    write(text: string): unknown;
  };
  /** The process, which receives signals and an event at its end. */
  readonly signals: Emitter;
  readonly inColour: boolean;
};

const take = '\u001B[?1049h\u001B[?25l';
const giveBack = '\u001B[?25h\u001B[?1049l';
const home = '\u001B[H';
const restOfLine = '\u001B[K';
const restOfScreen = '\u001B[J';

/** Where a terminal does not know its own size, as behind some `exec -t`. */
const usual = { columns: 80, rows: 24 };

const escape = '\u001B';
/** `q` and Ctrl-C; also Ctrl-D, which ends a terminal's input. */
const endKeys = ['q', 'Q', '\u0003', '\u0004'];

/** Keys with a name of their own come as an escape and letters, some of them these. */
const isEnd = (typed: string) => !typed.startsWith(escape) && endKeys.some((key) => typed.includes(key));

const ends = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function screenOver({ input, output, signals, inColour }: Streams): Screen {
  const open: Screen['open'] = ({ onEnd, onResize }) => {
    const onTyped = (typed: Buffer) => {
      if (isEnd(typed.toString('latin1'))) onEnd();
    };
    let isOpen = true;
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      for (const signal of ends) signals.off(signal, onEnd);
      signals.off('exit', close);
      output.off('resize', onResize);
      input.off('data', onTyped);
      input.off('end', onEnd);
      if (input.isTTY) input.setRawMode(false);
      input.pause();
      output.write(giveBack);
    };
    for (const signal of ends) signals.on(signal, onEnd);
    // At every end of the process, unexpected errors included.
    signals.on('exit', close);
    // A terminal that is gone; stays for what is still written then.
    output.on('error', onEnd);
    output.on('resize', onResize);
    if (input.isTTY) {
      input.setRawMode(true);
      input.on('data', onTyped);
      input.on('end', onEnd);
      input.resume();
    }
    output.write(take);
    const draw: OpenScreen['draw'] = (lines) => {
      const painted = lines.map((line) => `${paint(line, inColour)}${restOfLine}`);
      output.write(`${home}${painted.join('\r\n')}${restOfScreen}`);
    };
    const size = () => ({ columns: output.columns || usual.columns, rows: output.rows || usual.rows });
    return { size, draw, close };
  };
  return { isTerminal: output.isTTY, open };
}

/** Colors if the terminal shows them and NO_COLOR is not set (no-color.org). */
export const processScreen: Screen = screenOver({
  input: process.stdin,
  output: process.stdout,
  signals: process,
  inColour: !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb',
});
