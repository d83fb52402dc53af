import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededRandom } from '#demo/seeded-random.ts';
import { nativeFile } from '#infra/payload/native/compile.ts';
import { encodeKeys } from '#services/terminals/keys.ts';
import { Terminal } from '#services/terminals/terminal.ts';

/*
 * The same program in tmux and in a terminal of Corral gets the same bytes. Each random sequence of keys ends with keys after which the
 * program shows a text of that sequence: when both show it, the screens must become equal.
 */
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'corral-tmux-'));
  writeFileSync(join(folder, 'tmux.conf'), 'set -g default-terminal xterm-256color\nset -g status off\n');
  const lines = Array.from(
    { length: 300 },
    (_, line) => `${line}\t${'word '.repeat(line % 23)}é 漢字 ${line}`,
  );
  writeFileSync(join(folder, 'text'), `${lines.join('\n')}\n`);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const size = { rows: 24, columns: 80 };

class Pair {
  readonly #socket: string;
  readonly #terminal: Terminal;

  constructor(name: string, script: string) {
    this.#socket = join(folder, `${name}.sock`);
    const env = { PATH: '/usr/bin:/bin', HOME: folder, LANG: 'C.UTF-8', PS1: '$ ', TERM: 'xterm-256color' };
    const start = { argv: ['/bin/sh', '-c', script] as const, env, cwd: folder };
    const { argv } = start;
    this.#terminal = new Terminal(nativeFile('pty', process.arch), { ...start, argv: [...argv], size });
    const session = ['-f', join(folder, 'tmux.conf'), 'new-session', '-d', '-x', '80', '-y', '24'];
    execFileSync('tmux', ['-S', this.#socket, ...session, ...argv], { env, cwd: folder });
  }

  /** Names of keys to both, encoded as the program wants them now. */
  press(keys: string): void {
    this.type(encodeKeys(keys, this.#terminal.screen.keyMode));
  }

  type(text: string): void {
    if (text === '') return;
    const bytes = [...Buffer.from(text)].map((byte) => byte.toString(16));
    this.#tmux('send-keys', '-H', ...bytes);
    this.#terminal.send(text, '');
  }

  /** Once both screens show the text. */
  async equal(text: string): Promise<void> {
    const wait = { timeout: 20_000, interval: 20 };
    await expect.poll(() => this.#screens().every((screen) => screen.includes(text)), wait).toBe(true);
    const differences = () => {
      const [ours = '', theirs = ''] = this.#screens();
      return ours === theirs ? null : { ours, theirs };
    };
    await expect.poll(differences, wait).toBeNull();
  }

  end(): void {
    this.#terminal.close();
    this.#tmux('kill-server');
  }

  #screens(): readonly string[] {
    return [this.#terminal.screen.text().trimEnd(), this.#tmux('capture-pane', '-p').trimEnd()];
  }

  #tmux(...words: readonly string[]): string {
    return execFileSync('tmux', ['-S', this.#socket, ...words], { encoding: 'utf8' });
  }
}

type Played = {
  readonly program: string;
  readonly script: string;
  readonly first: string;
  readonly sequences: number;
  /** Names of keys, chosen at random. */
  readonly keys: readonly string[];
  /** Typed after a sequence; the program then shows `shows`, or the text. */
  readonly mark: (text: string) => string;
  readonly shows?: (text: string) => string;
};

const played: readonly Played[] = [
  {
    program: 'vim',
    script: 'exec vim.basic -N -u NONE -i NONE -n text',
    first: '"text"',
    sequences: 80,
    keys: [
      'h|j|k|l|w|b|e|0|$|x|p|J|u|~|G|H|M|L|%|d d|y y|g g|z z|z t|> >|< <|D|i a Space b Escape',
      'o x y z Enter Escape|C-d|C-u|C-f|C-b|C-e|C-y|C-r|Up|Down|Left|Right|Home|End|PageDown',
      'A Tab m BSpace n Escape|R q r s Escape|/ w o r d Enter|n|N|v l l d|V j d|C-w s|C-w w|C-w o',
    ].flatMap((names) => names.split('|')),
    mark: (text) => `\u001B\u001B:echo "${text}"\r`,
  },
  {
    program: 'less',
    script: 'exec less -R text',
    first: 'text',
    sequences: 60,
    keys: [
      'Space|b|j|k|d|u|g|G|y|e|f|Up|Down|PageUp|PageDown|Home|End|/ 7 7 Enter|n|N|? 1 Enter|Right|Left',
      '1 2 G|5 0 %|- N Enter|- S Enter|Enter',
    ].flatMap((names) => names.split('|')),
    mark: (text) => `-Ps${text}\r`,
  },
  {
    program: 'bash',
    script: 'HISTFILE= exec bash --norc --noprofile',
    first: '$',
    sequences: 60,
    keys: [
      "a|b|Space|'|C-a|C-e|C-b|C-f|C-k|C-w|C-y|C-t|M-b|M-f|M-d|M-u|M-t|Up|Down|Left|Right|Home|End",
      'Delete|BSpace|C-l|C-r o C-g',
    ].flatMap((names) => names.split('|')),
    // Keys that come before the next prompt would be shown by the kernel, sooner or later.
    mark: (text) => `\u0005\u0015seq 9; printf '%90s\\n' x; echo "${text.slice(0, 1)}"${text.slice(1)}\r`,
    shows: (text) => `${text}\n$`,
  },
];

describe.each(played)('$program', ({ program, script, first, sequences, keys, mark, shows }) => {
  it(`shows after ${sequences} random sequences of keys what tmux shows`, async () => {
    const random = seededRandom(`keys of ${program}`);
    const pair = new Pair(program, script);
    try {
      await pair.equal(first);
      for (let sequence = 1; sequence <= sequences; sequence += 1) {
        const length = 1 + Math.floor(random.next() * 12);
        const chosen = Array.from({ length }, () => keys[Math.floor(random.next() * keys.length)] ?? '');
        pair.press(chosen.join(' '));
        const text = `sequence-${sequence}-ends`;
        pair.type(mark(text));
        await pair.equal(shows?.(text) ?? text).catch((error: unknown) => {
          throw new Error(`after ${chosen.join(' ')}`, { cause: error });
        });
      }
    } finally {
      pair.end();
    }
  });
});
