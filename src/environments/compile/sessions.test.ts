import { describe, expect, test } from 'vitest';
import { checkArguments } from '#src/tools/arguments.ts';
import { actionOf, sessionChecks } from '#src/tools/action.ts';
import { environmentFolder, mistakesOf } from '#test/support/environment-folder.ts';
import { loadEnvironments } from '../load-environments.ts';

const yaml = (more: string, expose = '[repo]') => `
name: plain
sandbox: { image: host }
expose: ${expose}
grader: { kind: text, reference: item.answer }
${more}
`;

async function loaded(more: string) {
  await using folder = await environmentFolder({ 'a.yaml': yaml(more) });
  const [environment] = (await loadEnvironments(folder.path)).all();
  if (environment === undefined) throw new Error('it was not loaded');
  return environment;
}

const mistakes = async (more: string) => {
  await using folder = await environmentFolder({ 'a.yaml': yaml(more) });
  return await mistakesOf(folder.path, loadEnvironments(folder.path));
};

describe('sessions: [terminal]', () => {
  test('gives four tools, next to the environment’s own or alone', async () => {
    const names = ['terminal_open', 'terminal_send', 'terminal_read', 'terminal_close'];
    expect(Object.keys((await loaded('sessions: [terminal]')).tools)).toEqual(names);
    const both = await loaded('sessions: [terminal]\ntools: { shell: { builtin: shell } }');
    expect(Object.keys(both.tools)).toEqual(['shell', ...names]);
  });

  test('calls become actions with the exposed fields of the row as variables of the terminal', async () => {
    const { tools } = await loaded('sessions: [terminal]');
    const open = tools['terminal_open'];
    if (open === undefined) throw new Error('there is no such tool');
    expect(checkArguments(open, { rows: 1000 })).toMatchObject({ ok: false });
    expect(actionOf(open, { command: 'vim', rows: 30 }, { repo: 'corral' })).toEqual({
      kind: 'builtin',
      tool: 'terminal_open',
      arguments: { command: 'vim', rows: 30 },
      env: { CORRAL_ITEM_REPO: 'corral' },
    });
  });

  test('an environment has a check before the first call, and is new to the previous release, only with it', async () => {
    const without = await loaded('tools: { shell: { builtin: shell } }');
    const withSessions = await loaded('sessions: [terminal]');
    const check = { kind: 'builtin', tool: 'terminal_check', arguments: {} };
    expect([without, withSessions].map(sessionChecks)).toEqual([[], [check]]);
  });

  test('the version of an environment without it is what it was before sessions existed', async () => {
    const { version } = await loaded('tools: { shell: { builtin: shell } }');
    expect(version).toBe('5dbfc74debf2e18ff0e4121d3bcb6345c1a4cba9a602f07e64dea5b904b938d3');
  });

  test.each([
    ['sessions: [shell]', 'terminal or browser'],
    [
      'sessions: [browser]\ntools: { browser_read: { builtin: shell } }',
      'is a tool of sessions: [browser]; name it otherwise',
    ],
    ['sessions: []', 'sessions'],
    ['sessions: [terminal, terminal]', 'sessions'],
    [
      'sessions: [terminal]\ntools: { terminal_read: { builtin: shell } }',
      'is a tool of sessions: [terminal]; name it otherwise',
    ],
    ['limits: { tool_calls: 3 }', 'is missing: only where the trainer grades by itself'],
  ])('%s is a mistake with its reason', async (more, reason) => {
    expect(JSON.stringify(await mistakes(more))).toContain(reason);
  });
});

describe('sessions: [browser]', () => {
  const names = ['browser_goto', 'browser_click', 'browser_type', 'browser_read', 'browser_screenshot'];

  test('gives five tools, alone or after those of terminals, and a check of the image for each', async () => {
    const alone = await loaded('sessions: [browser]');
    expect(Object.keys(alone.tools)).toEqual(names);
    expect(sessionChecks(alone).map(({ tool }) => tool)).toEqual(['browser_check']);
    const both = await loaded('sessions: [terminal, browser]');
    expect(Object.keys(both.tools).slice(-names.length)).toEqual(names);
    expect(sessionChecks(both).map(({ tool }) => tool)).toEqual(['terminal_check', 'browser_check']);
  });

  test('elements are named by role, and the browser has the exposed fields of the row as variables', async () => {
    const { browser_click: click } = (await loaded('sessions: [browser]')).tools;
    if (click === undefined) throw new Error('there is no such tool');
    expect(checkArguments(click, { name: 'Save' })).toMatchObject({ ok: false });
    expect(actionOf(click, { role: 'button', name: 'Save' }, { repo: 'corral' })).toMatchObject({
      tool: 'browser_click',
      env: { CORRAL_ITEM_REPO: 'corral' },
    });
  });
});
