import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { completed, type Kind, loadPolicies, scripted, type Secrets } from './policies.ts';

let root = '';
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'corral-'));
});
afterAll(() => rmSync(root, { recursive: true }));

function load(yaml: string, graded: readonly string[] = ['files']) {
  const file = join(root, 'policies.yaml');
  writeFileSync(file, yaml);
  return loadPolicies(file, { graded, told: null });
}

const row = { item: { id: 'a' }, reference: '7', cheating: undefined };

test('a policy has its calls, its answer and its range; what is left out is one copy and no range', () => {
  const [first, second] = load(`
policies:
  - { name: looks, kind: good, calls: [{ tool: shell, arguments: { command: "ls {item.repo}" } }], answer: { files: [a] }, copies: 3, expect: [0.4, 0.6] }
  - { name: right, kind: reference, answer: "{item.files}", expect: 1 }
`);
  expect(first).toEqual({
    name: 'looks',
    kind: 'good',
    steps: [{ tool: 'shell', arguments: { command: 'ls {item.repo}' } }],
    answer: { files: ['a'] },
    copies: 3,
    expect: [0.4, 0.6],
  });
  expect(second).toMatchObject({ steps: [], copies: 1, expect: [1, 1] });
});

test.each([
  [
    'a kind that is none',
    '{ name: a, kind: best }',
    'kind must be one of nothing, naive, good, ceiling, reference, cheat',
  ],
  ['a field that is unknown', '{ name: a, kind: good, copy: 3 }', 'copy is unknown here'],
  ['a range in the wrong order', '{ name: a, kind: good, expect: [1, 0] }', 'ends in wrong order'],
  [
    'a nothing that works',
    '{ name: a, kind: nothing, calls: [{ tool: shell }] }',
    'is a nothing, and makes calls',
  ],
  [
    'a script beside calls',
    '{ name: a, kind: good, script: play.ts, answer: "7" }',
    'has a script and also calls or an answer; the script makes the calls and gives the answer',
  ],
  [
    'a script elsewhere',
    '{ name: a, kind: good, script: ../play.ts }',
    'script must be a module next to this file',
  ],
  [
    'a good one that knows the reference',
    '{ name: a, kind: good, answer: "{corral.reference}" }',
    'is a good and names {corral.reference}, which no policy of that kind can know',
  ],
  [
    'a cheat that knows what the grader compares with',
    '{ name: a, kind: cheat, answer: ["is {item.files.0}"] }',
    'is a cheat and names {item.files}',
  ],
])('%s is told with its line', (_what, policy, said) => {
  expect(() => load(`policies:\n  - ${policy}\n`)).toThrow(said);
  expect(() => load(`policies:\n  - ${policy}\n`)).toThrow(/policies\.yaml:2: /);
});

test('two policies of one name would be one line of the table', () => {
  expect(() => load('policies:\n  - { name: a, kind: good }\n  - { name: a, kind: cheat }\n')).toThrow(
    /policies\.yaml:3: policies\.1\.name is taken/,
  );
});

test('an environment without a file of policies has those of its rows, in the order of the ladder', () => {
  const given = loadPolicies(join(root, 'nowhere.yaml'), { graded: [], told: null });
  expect(completed(given, [{ ...row, cheating: '0' }]).map(({ name }) => name)).toEqual([
    'nothing',
    'reference',
    'cheating',
  ]);
  // What not every row brings cannot be played on every row.
  expect(completed(given, [row, { ...row, reference: undefined }]).map(({ name }) => name)).toEqual([
    'nothing',
  ]);
});

test('a policy that is given stands for the one that would be made up', () => {
  const given = load('policies:\n  - { name: mine, kind: reference, answer: "{corral.reference}" }\n');
  expect(completed(given, [row]).map(({ name }) => name)).toEqual(['nothing', 'mine']);
});

let programs = '';
let program = '';
beforeAll(() => {
  programs = mkdtempSync(join(tmpdir(), 'corral-'));
  program = join(programs, 'policies.mjs');
  writeFileSync(
    program,
    `export const policies = {
      looks: async ({ item, given, copy, call }) => ({ item, given, copy, seen: await call('shell', { command: 'ls' }) }),
      breaks: async ({ item }) => item.no.such,
    };`,
  );
});
afterAll(() => rmSync(programs, { recursive: true }));

const asked = { item: { question: 'why', page: '3', answer: '7' }, reference: '7', cheating: '42' };

const playAs = (kind: Kind, told: Secrets['told'], name = 'looks') =>
  scripted(
    program,
    { name, kind },
    { graded: ['answer'], told },
  )({ row: asked, copy: 2, call: async () => 'a b' });

test('a policy’s program knows of the row what the prompt tells, makes its calls, and its copies are told apart', async () => {
  expect(await playAs('good', ['question'])).toEqual({ item: { question: 'why' }, copy: 2, seen: 'a b' });
});

test('without a prompt it knows all but what the grader compares with', async () => {
  expect(await playAs('naive', null)).toMatchObject({ item: { question: 'why', page: '3' } });
  expect(await playAs('naive', null)).not.toHaveProperty('item.answer');
});

test('a reference is given the reference, a cheat what is tried instead, and nobody else either', async () => {
  expect(await playAs('reference', ['question'])).toMatchObject({ item: asked.item, given: '7' });
  expect(await playAs('cheat', null)).toMatchObject({ given: '42' });
  expect(await playAs('good', null)).toHaveProperty('given', undefined);
});

test('a program that fails, or is not there, is its author’s to fix and no zero', async () => {
  await expect(playAs('good', null, 'breaks')).rejects.toThrow(/policy breaks failed: TypeError/);
  await expect(playAs('good', null, 'other')).rejects.toThrow(/has no policy other/);
});
