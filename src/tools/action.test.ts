import { describe, expect, test } from 'vitest';
import type { Tool } from '../model/environment.ts';
import { actionOf, setupCommands } from './action.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { Failure } from '../failure/failure.ts';

const tool = (run: Tool['run']): Tool => ({
  name: 'tool',
  description: 'a tool',
  parameters: { type: 'object' },
  timeoutMs: 1000,
  run,
});

const command = (...argv: string[]) => tool({ kind: 'command', argv });

describe('a command', () => {
  test('gets each value as part of one argv element, whatever is in it', () => {
    const action = actionOf(command('grep', '--', '{query}', 'in-{path}'), {
      query: `'; rm -rf / "$(x)" {path}`,
      path: 'a b',
    });
    expect(action).toMatchObject({ argv: ['grep', '--', `'; rm -rf / "$(x)" {path}`, 'in-a b'] });
  });

  test('gets numbers and lists as text and what was not given as nothing', () => {
    const action = actionOf(command('x', '{count}', '{paths}', '{absent}'), { count: 3, paths: ['a'] });
    expect(action).toMatchObject({ argv: ['x', '3', '["a"]', ''] });
  });

  test('has the exposed item fields in its environment and in its placeholders', () => {
    const exposed = { 'repo-name': 'fastify' };
    expect(actionOf(command('ls', '/repos/{item.repo-name}', '{{item.repo-name}}'), {}, exposed)).toEqual({
      kind: 'exec',
      argv: ['ls', '/repos/fastify', '{item.repo-name}'],
      env: { CORRAL_ITEM_REPO_NAME: 'fastify' },
      merge: true,
    });
  });
});

test('a query gets the row’s fields as the row has them, whatever the model calls its arguments', () => {
  const run = {
    kind: 'index',
    database: '/data/a.db',
    sql: 'SELECT :item_repo',
    each: null,
    none: '',
  } as const;
  const given = { query: 'a', item_repo: 'other', ':item_repo': 'other', '@item_repo': 'other', '': 'other' };
  expect(actionOf(tool(run), given, { repo: 'own' })).toMatchObject({
    values: { query: 'a', item_repo: 'own' },
  });
  expect(JSON.stringify(actionOf(tool(run), given, { repo: 'own' }))).not.toContain('other');
});

test('a built-in tool gets its arguments as they are, and null counts as not given', () => {
  const action = actionOf(tool({ kind: 'builtin', tool: 'read_file' }), {
    path: 'a',
    start_line: 2,
    end_line: null,
  });
  expect(action).toEqual({ kind: 'builtin', tool: 'read_file', arguments: { path: 'a', start_line: 2 } });
});

const environment = fakeEnvironment({
  expose: ['repo', 'size'],
  setup: { commands: [['ln', '-s', '/repos/{item.repo}', 'repo'], ['true']], timeoutMs: 1000 },
});

test('exposed fields are filled in and in the environment of every command; others stay outside', () => {
  const env = { CORRAL_ITEM_REPO: 'fastify', CORRAL_ITEM_SIZE: '3' };
  expect(setupCommands(environment, { repo: 'fastify', size: 3, files: ['secret'] })).toEqual([
    { kind: 'exec', argv: ['ln', '-s', '/repos/fastify', 'repo'], env },
    { kind: 'exec', argv: ['true'], env },
  ]);
});

test.each([
  ['no row', null],
  ['a row without the field', { repo: 'fastify' }],
  ['a row where it is null', { repo: 'fastify', size: null }],
])('%s is the failure of the caller, named by field', (_what, item) => {
  const failing = () => setupCommands(environment, item);
  expect(failing).toThrow(Failure);
  expect(failing).toThrow(/repo|size/);
});

test('an environment that exposes nothing needs no row', () => {
  expect(setupCommands(fakeEnvironment(), null)).toEqual([]);
});
