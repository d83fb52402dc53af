import { accessSync, constants } from 'node:fs';
import { join, resolve } from 'node:path';
import { ToolArguments, ToolError } from '#services/sandboxd/helper/tools/tool-arguments.ts';
import {
  isTerminalTool,
  longestTerminalWaitS,
  mostScrollbackLines,
  showTool,
  type TerminalRequest,
  type TerminalTool,
  terminalSize,
  usualTerminalWaitS,
} from '#src/protocol/sandboxd/terminals.ts';
import { parsePattern, type Pattern } from './pattern.ts';
import type { Mark } from './screen.ts';
import { Terminal, type Waited } from './terminal.ts';

/** More than a person looks at. Each has a program, a process that carries its streams, and a screen with its scrollback. */
const mostTerminals = 16;

/** The terminals of a sandbox, by number. Numbers are not used again. */
export class Terminals {
  readonly #pty: string;
  readonly #open = new Map<number, Terminal>();
  #opened = 0;

  /** `pty`: the path of the program that opens pseudoterminals. */
  constructor(pty: string) {
    this.#pty = pty;
  }

  /** What the model reads. Throws {@link ToolError}. */
  answer(request: TerminalRequest): Promise<string> {
    const { tool } = request;
    if (tool === showTool) return Promise.resolve(this.#showNow(new ToolArguments(request.arguments)));
    if (!isTerminalTool(tool)) throw new ToolError(`there is no tool ${tool}`);
    return this.#tools[tool](new ToolArguments(request.arguments), request);
  }

  /** Throws {@link ToolError} if there is no such terminal. */
  find(request: TerminalRequest): Terminal {
    return this.#find(new ToolArguments(request.arguments))[1];
  }

  readonly #tools: Readonly<
    Record<TerminalTool, (values: ToolArguments, request: TerminalRequest) => Promise<string>>
  > = {
    terminal_open: (values, request) => this.#openOne(values, request),
    terminal_send: (values) => this.#send(values),
    terminal_read: (values) => this.#read(values),
    terminal_close: (values) => this.#close(values),
  };

  async #openOne(values: ToolArguments, { env, cwd }: TerminalRequest): Promise<string> {
    const wait = waitOf(values);
    const shell = shellIn(env['PATH'] ?? '');
    const command = values.optionalText('command');
    const size = { rows: sideOf(values, 'rows'), columns: sideOf(values, 'columns') };
    this.#makeRoom();
    const terminal = new Terminal(this.#pty, {
      argv: command === undefined ? [shell] : [shell, '-c', command],
      env: { ...env, TERM: 'xterm-256color' },
      cwd: resolve(cwd, values.optionalText('cwd') ?? '.'),
      size,
    });
    const number = (this.#opened += 1);
    this.#open.set(number, terminal);
    await terminal.started().catch((error: unknown) => this.#withdraw(number, error));
    const shown = await this.#show(number, terminal, wait, null);
    if (terminal.reason !== '') this.#withdraw(number, new ToolError(terminal.reason));
    return shown;
  }

  async #send(values: ToolArguments): Promise<string> {
    const [number, terminal] = this.#find(values);
    const wait = waitOf(values);
    const mark = terminal.screen.mark();
    terminal.send(values.optionalText('text') ?? '', values.optionalText('keys') ?? '');
    return this.#show(number, terminal, wait, mark);
  }

  async #read(values: ToolArguments): Promise<string> {
    const [number, terminal] = this.#find(values);
    const linesAbove = Math.min(values.optionalNumber('scrollback', 1) ?? 0, mostScrollbackLines);
    return this.#show(number, terminal, waitOf(values), null, linesAbove);
  }

  #close(values: ToolArguments): Promise<string> {
    const [number, terminal] = this.#find(values);
    terminal.close();
    this.#open.delete(number);
    return Promise.resolve(`[terminal ${number} is closed]\n`);
  }

  async #show(number: number, terminal: Terminal, wait: Wait, mark: Mark, linesAbove = 0): Promise<string> {
    const waited = await terminal.wait(wait.pattern, mark, wait.timeoutMs);
    mark?.forget();
    return `${headOf(number, terminal, wait, waited)}\n${terminal.screen.text(linesAbove)}\n`;
  }

  /** What an operator reads: nothing waits for it, and nothing changes. */
  #showNow(values: ToolArguments): string {
    const newest = [...this.#open.keys()].at(-1);
    const wanted = values.optionalNumber('terminal', 1) ?? newest;
    const terminal = wanted === undefined ? undefined : this.#open.get(wanted);
    if (wanted === undefined || terminal === undefined) throw new ToolError(`open: ${this.#names()}`);
    return `[terminal ${wanted}: ${stateOf(terminal)}; open: ${this.#names()}]\n${terminal.screen.text()}\n`;
  }

  #names(): string {
    return [...this.#open.keys()].join(', ') || 'none';
  }

  #find(values: ToolArguments): readonly [number, Terminal] {
    const number = values.optionalNumber('terminal', 1);
    if (number === undefined) throw new ToolError('terminal is missing');
    const terminal = this.#open.get(number);
    if (terminal === undefined) throw new ToolError(`there is no terminal ${number}; open: ${this.#names()}`);
    return [number, terminal];
  }

  /** Those whose program has ended make room first. */
  #makeRoom(): void {
    if (this.#open.size < mostTerminals) return;
    const [ended] = [...this.#open].find(([, terminal]) => terminal.hasEnded) ?? [];
    if (ended === undefined)
      throw new ToolError(`${mostTerminals} terminals are open, which is the limit; close one first`);
    this.#open.get(ended)?.close();
    this.#open.delete(ended);
  }

  #withdraw(number: number, error: unknown): never {
    this.#open.get(number)?.close();
    this.#open.delete(number);
    throw error;
  }
}

type Wait = { readonly pattern: Pattern | null; readonly timeoutMs: number };

function waitOf(values: ToolArguments): Wait {
  const text = values.optionalText('wait_for');
  const isRegex = values.flag('regex');
  const seconds = values.optionalNumber('timeout_s', 1) ?? usualTerminalWaitS;
  if (seconds > longestTerminalWaitS)
    throw new ToolError(`timeout_s must be at most ${longestTerminalWaitS}`);
  return { pattern: text === undefined ? null : parsePattern(text, isRegex), timeoutMs: seconds * 1000 };
}

function sideOf(values: ToolArguments, name: keyof typeof terminalSize): number {
  const { usual, most } = terminalSize[name];
  const side = values.optionalNumber(name, 2) ?? usual;
  if (side > most) throw new ToolError(`${name} must be at most ${most}`);
  return side;
}

/** bash if the image has one, as people and agents expect of a terminal. */
function shellIn(path: string): string {
  const places = path.split(':').map((folder) => join('/', folder, 'bash'));
  return places.find(mayRun) ?? '/bin/sh';
}

function mayRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function headOf(number: number, terminal: Terminal, { pattern, timeoutMs }: Wait, waited: Waited): string {
  return `[terminal ${number}: ${stateOf(terminal)}${noteOn(pattern, timeoutMs, waited)}]`;
}

function stateOf({ hasEnded, exitCode, screen }: Terminal): string {
  const { line, column } = screen.cursor;
  return hasEnded ? `ended with exit code ${exitCode}` : `running, cursor at line ${line}, column ${column}`;
}

function noteOn(pattern: Pattern | null, timeoutMs: number, waited: Waited): string {
  if (pattern !== null && waited !== 'matched') {
    const text = JSON.stringify(pattern.text);
    return waited === 'ended' ? `, without ${text}` : `, no ${text} within ${timeoutMs / 1000} s`;
  }
  return waited === 'timed_out' ? `, still printing after ${timeoutMs / 1000} s` : '';
}
