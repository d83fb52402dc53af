import type { BrowserTool, JsonSchema, TerminalTool, Tool } from '#src/model/environment.ts';
import { browserTools } from '#src/protocol/sandboxd/browser.ts';
import {
  longestTerminalWaitS,
  mostScrollbackLines,
  terminalSize,
  terminalTools,
  usualTerminalWaitS,
} from '#src/protocol/sandboxd/terminals.ts';
import type { Report } from '../mistakes.ts';
import type { EnvironmentYaml } from '../schema/environment.ts';
import { browserDefinitions } from './browser-tools.ts';
import { objectSchema } from './object-schema.ts';

/** Time for the longest wait, and for what a busy machine adds. */
const timeoutMs = 120_000;

/** The tools that `sessions` gives, with all that the model reads of them. */
export function compileSessions(
  { sessions = [], tools = {} }: EnvironmentYaml,
  report: Report,
): Readonly<Record<string, Tool>> {
  const given = sessions.flatMap((kind) => toolsOf[kind].map((name) => ({ kind, name })));
  const taken = given.find(({ name }) => Object.hasOwn(tools, name));
  if (taken !== undefined)
    report(['tools', taken.name], `is a tool of sessions: [${taken.kind}]; name it otherwise`);
  return Object.fromEntries(given.map(({ name }) => [name, sessionTool(name)]));
}

const toolsOf = { terminal: terminalTools, browser: browserTools } as const;

function sessionTool(name: TerminalTool | BrowserTool): Tool {
  return { name, ...definitions[name], timeoutMs, run: { kind: 'builtin', tool: name } };
}

const terminal = { type: 'integer', minimum: 1, description: 'The number of the terminal.' };

const waiting = {
  wait_for: {
    type: 'string',
    minLength: 1,
    maxLength: 500,
    description:
      'A text to wait for. Without it the call returns when the program has printed nothing for a moment.',
  },
  regex: { type: 'boolean', description: 'Whether wait_for is a regular expression (RE2).' },
  timeout_s: {
    type: 'integer',
    minimum: 1,
    maximum: longestTerminalWaitS,
    description: `The longest wait in seconds; ${usualTerminalWaitS} if left out. The program goes on after it.`,
  },
};

const side = (what: 'rows' | 'columns'): JsonSchema => ({
  type: 'integer',
  minimum: 2,
  maximum: terminalSize[what].most,
  description: `${what === 'rows' ? 'Lines' : 'Columns'} of the screen; ${terminalSize[what].usual} if left out.`,
});

const definitions: Readonly<Record<TerminalTool | BrowserTool, Pick<Tool, 'description' | 'parameters'>>> = {
  ...browserDefinitions,
  terminal_open: {
    description:
      'Opens a terminal that stays open between calls, and returns its number and its screen. It runs a shell, or `command`. ' +
      'Several can be open at the same time.',
    parameters: objectSchema(
      {
        command: { type: 'string', minLength: 1, description: 'What to run in place of a shell.' },
        cwd: { type: 'string', description: 'Its folder, absolute or relative to the workspace.' },
        rows: side('rows'),
        columns: side('columns'),
        ...waiting,
      },
      [],
    ),
  },
  terminal_send: {
    description:
      'Types into a terminal, first `text` and then `keys`, waits, and returns the screen. A command line needs the key Enter at its end.',
    parameters: objectSchema(
      {
        terminal,
        text: { type: 'string', maxLength: 65_536, description: 'Text to type as it is.' },
        keys: {
          type: 'string',
          maxLength: 4096,
          description:
            'Names of keys with spaces in between: Enter, Tab, Escape, Up, PageDown, F1, C-c (control), M-x (alt), or one character.',
        },
        ...waiting,
      },
      ['terminal'],
    ),
  },
  terminal_read: {
    description:
      'Waits, and returns the screen of a terminal, with lines that have scrolled off if asked for.',
    parameters: objectSchema(
      {
        terminal,
        scrollback: {
          type: 'integer',
          minimum: 1,
          maximum: mostScrollbackLines,
          description: 'How many of the lines above the screen to return as well.',
        },
        ...waiting,
      },
      ['terminal'],
    ),
  },
  terminal_close: {
    description: 'Closes a terminal. The programs in it are hung up.',
    parameters: objectSchema({ terminal }, ['terminal']),
  },
};
