import { Unicode11Addon } from '@xterm/addon-unicode11';
import headless from '@xterm/headless';
import { mostScrollbackLines } from '#src/protocol/sandboxd/terminals.ts';
import type { KeyMode } from './keys.ts';

/** The size of a terminal, in characters. */
export type Size = { readonly rows: number; readonly columns: number };

/** A place in what a terminal shows: text after it is newer. Null: it has no such place, and all of the screen counts. */
export type Mark = {
  readonly line: () => number;
  readonly column: number;
  readonly forget: () => void;
} | null;

/**
 * More accents than any language puts on one letter. A program that adds them without end would make a screen of one character arbitrarily
 * long.
 */
const tooManyAccents = /(\p{M}{8})\p{M}+/gu;

/** What a program has made of its terminal's screen by text and escape sequences, read as `tmux capture-pane` prints it. */
export class Screen {
  readonly #terminal: headless.Terminal;

  constructor({ rows, columns }: Size, answer: (text: string) => void) {
    const options = { rows, cols: columns, scrollback: mostScrollbackLines, allowProposedApi: true };
    this.#terminal = new headless.Terminal(options);
    this.#terminal.loadAddon(new Unicode11Addon());
    this.#terminal.unicode.activeVersion = '11';
    // Programs ask a terminal for its kind and its cursor, and wait for the answer.
    this.#terminal.onData((text) => {
      if (text !== '') answer(text);
    });
  }

  /** Resolves when the screen shows it. xterm shows at once what follows a person's input; all else waits for a timer, a millisecond each. */
  write(text: string): Promise<void> {
    this.#terminal.input('', true);
    return new Promise((resolve) => this.#terminal.write(text.replaceAll(tooManyAccents, '$1'), resolve));
  }

  get keyMode(): KeyMode {
    return { hasApplicationCursor: this.#terminal.modes.applicationCursorKeysMode };
  }

  /** Counted from 1. */
  get cursor(): { readonly line: number; readonly column: number } {
    const { cursorX, cursorY } = this.#terminal.buffer.active;
    return { line: cursorY + 1, column: cursorX + 1 };
  }

  /** The lines of the screen, without spaces at their ends, and so many of the lines above it as have scrolled off. */
  text(linesAbove = 0): string {
    const { baseY } = this.#terminal.buffer.active;
    return this.#textBetween(Math.max(0, baseY - linesAbove), 0);
  }

  /** Where the cursor is. A program that uses the whole screen (vim, less) writes anywhere. */
  mark(): Mark {
    const { buffer } = this.#terminal;
    if (buffer.active.type === 'alternate') return null;
    const marker = this.#terminal.registerMarker(0);
    if (marker === undefined) return null;
    return { line: () => marker.line, column: buffer.active.cursorX, forget: () => marker.dispose() };
  }

  /** What was printed after the mark; the whole screen, if the mark has left it. */
  textSince(mark: Mark): string {
    const { active } = this.#terminal.buffer;
    const line = mark?.line() ?? -1;
    const isBehind = line <= active.baseY + active.cursorY;
    if (mark === null || line < 0 || active.type === 'alternate' || !isBehind) return this.text();
    return this.#textBetween(line, mark.column);
  }

  #textBetween(from: number, column: number): string {
    const { active } = this.#terminal.buffer;
    const lines: string[] = [];
    for (let y = from; y < active.baseY + this.#terminal.rows; y += 1)
      lines.push(trimSpaces(active.getLine(y)?.translateToString(true, y === from ? column : 0) ?? ''));
    while (lines.at(-1) === '') lines.pop();
    return lines.join('\n');
  }
}

function trimSpaces(line: string): string {
  let end = line.length;
  while (line[end - 1] === ' ') end -= 1;
  return line.slice(0, end);
}
