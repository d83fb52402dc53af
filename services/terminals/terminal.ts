import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { ToolError } from '#services/sandboxd/helper/tools/tool-arguments.ts';
import { encodeKeys } from './keys.ts';
import type { Pattern } from './pattern.ts';
import { Recent } from './recent.ts';
import { type Mark, Screen, type Size } from './screen.ts';

/** What runs in a new terminal. */
export type Program = {
  /** The first is a path. */
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly size: Size;
};

/** What hears of a terminal's output while it is printed. */
export type Follower = { readonly printed: (bytes: Buffer) => void; readonly ended: () => void };

/** Why a wait ended. */
export type Waited = 'quiet' | 'matched' | 'ended' | 'timed_out';

/** Between two outputs of one program on a busy machine; a person takes longer, too. */
const quietMs = 300;
/** A program that starts prints nothing for longer. */
const quietStartMs = 1_000;
/** A program that does not read what it was sent: as much is kept for it. */
const mostUnreadBytes = 256 * 1024;
/** Answers of the terminal itself are dropped beyond this, if the program that asks does not read them. */
const mostUnreadAnswers = 4096;
/** Of what `pty` says if it opens no terminal. */
const longestReason = 500;

/**
 * A program in a pseudoterminal, with its screen. `pty` (`infra/payload/native`) has the pseudoterminal, so this process reads and writes
 * a stream. It reads no further while the screen has not taken in what it has read: a program that prints without end waits.
 */
export class Terminal {
  readonly #process: ChildProcess;
  readonly #screen: Screen;
  readonly #waiting = new Set<() => void>();
  readonly #recent = new Recent();
  readonly #followers = new Set<Follower>();
  #lastChangeMs = performance.now();
  #hasPrinted = false;
  #exitCode: number | null = null;
  #reason = '';

  constructor(pty: string, { argv, env, cwd, size }: Program) {
    const { rows, columns } = size;
    this.#process = spawn(pty, [String(rows), String(columns), ...argv], { cwd, env, stdio: 'pipe' });
    this.#screen = new Screen(size, (text) => this.#answer(text));
    void this.#follow();
  }

  /** Resolves when the program runs; throws {@link ToolError} if it cannot. */
  async started(): Promise<void> {
    try {
      await once(this.#process, 'spawn');
    } catch (error) {
      throw new ToolError(`no terminal could be opened: ${whyNot(error)}`);
    }
  }

  get hasEnded(): boolean {
    return this.#exitCode !== null;
  }

  /** As a shell tells of it: 128 and the number of the signal that ended the program. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  /** Why there is no terminal, if `pty` could open none. */
  get reason(): string {
    return this.#reason.trim();
  }

  get screen(): Screen {
    return this.#screen;
  }

  /** What a person would type. */
  send(text: string, keys: string): void {
    if (this.hasEnded) throw new ToolError('the program in this terminal has ended; open another terminal');
    const typed = text.replaceAll(/\r?\n/g, '\r') + encodeKeys(keys, this.#screen.keyMode);
    const unread = this.#process.stdin?.writableLength ?? 0;
    if (unread + typed.length > mostUnreadBytes)
      throw new ToolError(`the program in this terminal does not read: ${unread} bytes wait for it`);
    this.#process.stdin?.write(typed);
    this.#lastChangeMs = performance.now();
  }

  /**
   * Until the program has been silent, or the pattern is on the screen after the mark, or the program has ended, for at most so long.
   * With a pattern silence is no end: a program that works prints nothing.
   */
  async wait(pattern: Pattern | null, mark: Mark, timeoutMs: number): Promise<Waited> {
    const untilMs = performance.now() + timeoutMs;
    for (;;) {
      if (pattern?.matches(this.#screen.textSince(mark)) === true) return 'matched';
      if (this.hasEnded) return 'ended';
      const nowMs = performance.now();
      const quietAtMs = pattern === null ? this.#quietAtMs : Number.POSITIVE_INFINITY;
      if (nowMs >= quietAtMs) return 'quiet';
      if (nowMs >= untilMs) return 'timed_out';
      await this.#changedWithin(Math.min(quietAtMs, untilMs) - nowMs);
    }
  }

  /** Begins with the latest of what was printed before. The function that is returned ends it. */
  follow(follower: Follower): () => void {
    follower.printed(this.#recent.read());
    if (this.hasEnded) follower.ended();
    else this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /** Without `pty` the kernel hangs the terminal up: its programs get SIGHUP. */
  close(): void {
    this.#process.kill('SIGKILL');
  }

  async #follow(): Promise<void> {
    const { stdin, stdout, stderr } = this.#process;
    this.#process.on('error', () => {}); // `started` throws it.
    stdin?.on('error', () => {}); // The program has ended, and 'exit' follows.
    stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#reason = (this.#reason + text).slice(0, longestReason);
    });
    const ended = once(this.#process, 'exit');
    ended.catch(() => {});
    if (stdout !== null) await this.#show(stdout.setEncoding('utf8')).catch(() => {});
    const [code, signal] = (await ended.catch(() => [null, null])) as readonly [number | null, string | null];
    this.#exitCode = code ?? (signal === null ? -1 : killedCode);
    this.#changed();
    for (const follower of this.#followers) follower.ended();
    this.#followers.clear();
  }

  async #show(printed: AsyncIterable<unknown>): Promise<void> {
    for await (const text of printed) {
      this.#tellFollowers(Buffer.from(String(text)));
      await this.#screen.write(String(text));
      this.#hasPrinted = true;
      this.#changed();
    }
  }

  #tellFollowers(bytes: Buffer): void {
    this.#recent.add(bytes);
    for (const follower of this.#followers) follower.printed(bytes);
  }

  get #quietAtMs(): number {
    return this.#lastChangeMs + (this.#hasPrinted ? quietMs : quietStartMs);
  }

  #answer(text: string): void {
    const { stdin } = this.#process;
    if (stdin !== null && stdin.writable && stdin.writableLength < mostUnreadAnswers) stdin.write(text);
  }

  #changed(): void {
    this.#lastChangeMs = performance.now();
    for (const wake of this.#waiting) wake();
  }

  #changedWithin(mostMs: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.max(1, mostMs));
      this.#waiting.add(wake);
    });
  }
}

/** `pty` itself was killed. */
const killedCode = 137;

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such folder',
  ENOTDIR: 'its folder is no folder',
  EACCES: 'its folder may not be entered',
  EAGAIN: 'the sandbox has no room for another process',
  ENOMEM: 'the sandbox has no memory for another process',
  E2BIG: 'the command is too long',
};

function whyNot(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return reasons[code] ?? (error instanceof Error ? error.message : String(error));
}
