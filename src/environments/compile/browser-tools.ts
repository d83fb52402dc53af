import type { BrowserTool, Tool } from '#src/model/environment.ts';
import { browserWindow } from '#src/protocol/sandboxd/browser.ts';
import { longestTerminalWaitS, usualTerminalWaitS } from '#src/protocol/sandboxd/terminals.ts';
import { objectSchema } from './object-schema.ts';

const waiting = {
  wait_for: {
    type: 'string',
    minLength: 1,
    maxLength: 500,
    description: 'A text to wait for. Without it the call returns when the page has loaded.',
  },
  timeout_s: {
    type: 'integer',
    minimum: 1,
    maximum: longestTerminalWaitS,
    description: `The longest wait in seconds; ${usualTerminalWaitS} if left out.`,
  },
};

const element = {
  role: {
    type: 'string',
    minLength: 1,
    maxLength: 100,
    description: 'Its role, as browser_read shows it: link, button, textbox, checkbox, combobox and so on.',
  },
  name: { type: 'string', maxLength: 2000, description: 'Its text, or a part of it.' },
  nth: {
    type: 'integer',
    minimum: 1,
    description: 'Which one of several that are alike, in the order of the page.',
  },
};

const answers = 'Waits, and returns the page: its elements by role and text.';

export const browserDefinitions: Readonly<Record<BrowserTool, Pick<Tool, 'description' | 'parameters'>>> = {
  browser_goto: {
    description: `Opens an address in a browser that stays open between calls. ${answers}`,
    parameters: objectSchema(
      {
        url: {
          type: 'string',
          minLength: 1,
          maxLength: 65_536,
          description: 'For example http://localhost:8000/',
        },
        ...waiting,
      },
      ['url'],
    ),
  },
  browser_click: {
    description: `Clicks an element of the page. ${answers}`,
    parameters: objectSchema({ ...element, ...waiting }, ['role']),
  },
  browser_type: {
    description: `Replaces what is in an element of the page by a text. ${answers}`,
    parameters: objectSchema(
      {
        ...element,
        text: {
          type: 'string',
          maxLength: 65_536,
          description: 'What to type; of a list of choices, the one to choose.',
        },
        submit: { type: 'boolean', description: 'Whether to press Enter afterwards.' },
        ...waiting,
      },
      ['role', 'text'],
    ),
  },
  browser_read: { description: answers, parameters: objectSchema(waiting, []) },
  browser_screenshot: {
    description:
      `Saves a picture of the window (PNG, ${browserWindow.width} x ${browserWindow.height}), and returns what is in the window ` +
      'and where: left,top and width x height.',
    parameters: objectSchema(
      {
        path: {
          type: 'string',
          minLength: 1,
          description: 'Where to save it, absolute or relative to the workspace; screenshot.png if left out.',
        },
      },
      [],
    ),
  },
};
