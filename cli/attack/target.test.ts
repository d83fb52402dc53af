import { expect, test } from 'vitest';
import type { Grader } from '#src/model/grader.ts';
import { answerWith, leavesOf, toolsOf, truthOf } from './target.ts';

const f1 = (answer: string, reference: string): Grader => ({ kind: 'f1', answer, reference });
const command: Grader = {
  kind: 'command',
  argv: ['true'],
  files: {},
  timeoutMs: 1,
  onExit: 0,
  onTimeout: 0,
  onOutOfMemory: 0,
  onBroken: 0,
};

test.each<[string, Grader, unknown]>([
  ['a field of JSON', f1('output_json.files', 'item.files'), { files: 'x' }],
  ['JSON itself', f1('output_json', 'item.files'), 'x'],
  ['text', f1('output_text', 'item.files'), 'x'],
  [
    'several fields, some of them deep, behind gates and penalties',
    {
      kind: 'gate',
      all: [f1('output_json.a', 'item.a')],
      grader: { kind: 'penalty', grader: f1('output_json.b.c', 'item.b'), freeCalls: 1, each: 1, floor: 0 },
    },
    { a: 'x', b: { c: 'x' } },
  ],
  ['nothing that is known', command, 'plain'],
])('an answer has its value where a grader reads %s', (_what, grader, answer) => {
  expect(answerWith(grader, () => 'x', 'plain')).toEqual(answer);
});

test('what is right is the row’s own reference, else what the grader compares with, else unknown', () => {
  const row = { item: { id: 'a', deep: { files: ['x', 3] } }, reference: undefined, cheating: undefined };
  const environment = { grader: f1('output_json.files', 'item.deep.files'), expose: [] };
  expect(truthOf({ row, environment })).toEqual({ files: ['x', 3] });
  expect(leavesOf(truthOf({ row, environment }))).toEqual(['x', '3']);
  expect(truthOf({ row: { ...row, reference: '7' }, environment })).toBe('7');
  expect(truthOf({ row, environment: { ...environment, grader: command } })).toBeUndefined();
});

const tool = (name: string, ...required: readonly string[]) => ({
  type: 'function' as const,
  function: { name, description: '', parameters: { type: 'object', required } },
});

test('a policy runs what it likes by a tool that needs a command and nothing else', () => {
  const job = (...functions: readonly ReturnType<typeof tool>[]) => ({
    tools: [],
    grader: null,
    functions: [...functions],
  });
  const some = toolsOf(job(tool('look', 'path'), tool('terminal', 'command'), tool('read_file', 'path')));
  expect(some.run?.('ls')).toEqual({ tool: 'terminal', arguments: { command: 'ls' } });
  expect(some.read?.('/etc')).toEqual({ tool: 'read_file', arguments: { path: '/etc' } });
  expect(toolsOf(job(tool('both', 'command', 'path'), tool('list_files', 'path')))).toMatchObject({
    run: null,
    read: null,
  });
});

test('the smallest call of a tool has its required fields, empty or with the first choice', () => {
  const parameters = {
    type: 'object',
    required: ['query', 'kind', 'count', 'flag', 'list', 'where'],
    properties: {
      query: { type: 'string', minLength: 2 },
      kind: { type: 'string', enum: ['file', 'folder'] },
      count: { type: 'integer', minimum: 3 },
      flag: { type: 'boolean' },
      list: { type: 'array' },
      where: { type: 'object' },
      optional: { type: 'string' },
    },
  };
  const functions = [{ type: 'function' as const, function: { name: 'look', description: '', parameters } }];
  expect(toolsOf({ tools: [], grader: null, functions }).smallest).toEqual([
    {
      tool: 'look',
      arguments: { query: 'xx', kind: 'file', count: 3, flag: false, list: [], where: {} },
    },
  ]);
});
