import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import { runCorral } from '#test/support/command-line.ts';
import { environmentFolder } from '#test/support/environment-folder.ts';

const asked = `
name: asked
sandbox: { image: host }
expose: [topic]
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
dataset:
  train: asked/train.jsonl
  eval: asked/eval.jsonl
  prompt: { system: Be brief., user: "{item.question}?" }
  disjoint: [topic]
`;
const unasked = `
name: unasked
sandbox: { image: host }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
dataset: { train: asked/train.jsonl }
`;
const secret = 'the-right-answer';
const row = (id: string, others: object = {}) => ({
  id,
  question: `What is ${id}`,
  answer: secret,
  topic: id,
  ...others,
});
const ours = { corral: { reference: 'tried by the ladder', cheating: 'tried too' } };
const jsonl = (...rows: readonly object[]) => rows.map((one) => `${JSON.stringify(one)}\n`).join('');

async function corralRows(
  args: readonly string[],
  { train = jsonl(row('a', ours), row('b/b')), evaluated = jsonl(row('c')) } = {},
) {
  const folder = await environmentFolder({
    'asked.yaml': asked,
    'unasked.yaml': unasked,
    'asked/train.jsonl': train,
    'asked/eval.jsonl': evaluated,
  });
  const ran = await runCorral([
    'rows',
    ...args.map((arg) => arg.replace('FOLDER', folder.path)),
    '--environments',
    folder.path,
  ]);
  const lines = () =>
    ran.printed.split('\n').map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  return { ...ran, lines, folder, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
}

const messages = (id: string) => [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: `What is ${id}?` },
];

describe('every trainer gets the row whole and the prompt apart', () => {
  test('a training platform: messages and the row’s fields', async () => {
    await using ran = await corralRows(['asked', '--for', 'rft']);
    expect(ran.lines()).toEqual([
      { messages: messages('a'), ...row('a') },
      { messages: messages('b/b'), ...row('b/b') },
    ]);
  });

  test('TRL: prompt and the row’s fields', async () => {
    await using ran = await corralRows(['asked', '--for', 'trl', '--split', 'eval']);
    expect(ran.lines()).toEqual([{ prompt: messages('c'), ...row('c') }]);
  });

  test('verifiers: the row beside the prompt', async () => {
    await using ran = await corralRows(['asked', '--for', 'verifiers', '--split', 'eval']);
    expect(ran.lines()).toEqual([
      { id: 'c', system_prompt: 'Be brief.', prompt: 'What is c?', item: row('c') },
    ]);
  });

  test('Harbor: a folder a row, whose agent sees the instruction alone', async () => {
    await using ran = await corralRows(['asked', '--for', 'harbor', '--out', 'FOLDER/tasks']);
    const tasks = join(ran.folder.path, 'tasks');
    expect(await readdir(tasks)).toEqual(['00001-a', '00002-b-b']);
    const text = (file: string) => readFile(join(tasks, '00001-a', file), 'utf8');
    expect(await text('instruction.md')).toMatch(/^Be brief\.\n\nWhat is a\?\n\nWhen you are done/);
    expect(JSON.parse(await text('row.json'))).toEqual(row('a'));
    for (const seen of ['instruction.md', 'task.toml', 'tests/test.sh'])
      expect(await text(seen)).not.toContain(secret);
  });
});

test.each(['rft', 'trl', 'verifiers'] as const)(
  'no message for the model has the answer, and nothing has what is ours: %s',
  async (trainer) => {
    await using ran = await corralRows(['asked', '--for', trainer]);
    const told = ran
      .lines()
      .map(({ messages: one, prompt, system_prompt }) => JSON.stringify([one, prompt, system_prompt]));
    expect(told.join('')).not.toContain(secret);
    expect(ran.printed).not.toContain('corral');
    expect(ran.printed).not.toContain('tried');
  },
);

describe('nothing is written, and it is said which row is wrong, where', () => {
  test.each([
    [
      'a row has no answer',
      jsonl({ id: 'a', question: 'x', topic: 't' }),
      'row 1 has no answer, which the grader compares with',
    ],
    [
      'a row has no question',
      jsonl(row('a'), { id: 'b', answer: 'x', topic: 't' }),
      'row 2 has no question, which the prompt names',
    ],
    ['two rows have one id', jsonl(row('a'), row('a')), 'row 2 has the id of row 1, "a"'],
    ['a row has no id', jsonl({ ...row('a'), id: '' }), 'row 1 has no id'],
    [
      'a row’s own field is where the prompt goes',
      jsonl(row('a', { messages: [] })),
      'row 1 has a field messages',
    ],
    ['a line is no JSON', 'x\n', 'line 1'],
  ])('%s', async (_what, train, said) => {
    await using ran = await corralRows(['asked', '--for', 'rft'], { train });
    expect(ran.exitCode).toBe(exitCodes.yours);
    expect(ran.said).toContain(said);
    expect(ran.printed).toBe('');
  });

  test.each([
    ['there is no prompt', ['unasked', '--for', 'rft'], 'unasked has no prompt'],
    ['a split is not there', ['unasked', '--for', 'rft', '--split', 'eval'], 'has no eval rows'],
    [
      'a folder has something in it',
      ['asked', '--for', 'harbor', '--out', 'FOLDER/asked'],
      'with something in it',
    ],
    ['Harbor has no folder', ['asked', '--for', 'harbor'], 'name a folder with --out'],
  ])('%s', async (_what, args, said) => {
    await using ran = await corralRows(args);
    expect(ran.exitCode).toBe(exitCodes.yours);
    expect(ran.said).toContain(said);
  });
});

test('what train and eval have in common is told with figures, and the rows are written all the same', async () => {
  await using ran = await corralRows(['asked', '--for', 'rft'], {
    evaluated: jsonl(row('c', { topic: 'a' })),
  });
  expect(ran.exitCode).toBe(exitCodes.done);
  expect(ran.said).toContain(
    'warning: train and eval share 1 value of topic: 1 of 2 rows (50 %) of train, 1 of 1 rows (100 %) of eval',
  );
  expect(ran.lines()).toHaveLength(2);
});
