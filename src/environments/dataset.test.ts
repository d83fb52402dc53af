import { hash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { environmentFolder, mistakesOf } from '#test/support/environment-folder.ts';
import { loadEnvironments } from './load-environments.ts';

const yaml = (dataset: string) => `
name: asked
sandbox: { image: host, memory: { request: 128Mi, limit: 512Mi } }
tools: { shell: { builtin: shell } }
grader: { kind: text, reference: item.answer }
${dataset}
`;
const rows = '{"id":"a","question":"1+1","answer":"2"}\n';
const whole =
  'dataset: { train: asked/train.jsonl, eval: asked/eval.jsonl, prompt: "{item.question}?", disjoint: [topic] }';
const files = { 'asked/train.jsonl': rows, 'asked/eval.jsonl': rows };

async function versionOf(dataset: string, given: Readonly<Record<string, string>> = files) {
  await using folder = await environmentFolder({ 'a.yaml': yaml(dataset), ...given });
  const [environment] = (await loadEnvironments(folder.path)).all();
  return { version: environment?.version, dataset: environment?.dataset };
}

async function mistakes(dataset: string, given: Readonly<Record<string, string>> = files) {
  await using folder = await environmentFolder({ 'a.yaml': yaml(dataset), ...given });
  return await mistakesOf(folder.path, loadEnvironments(folder.path));
}

test('an environment has its rows by digest, and its prompt', async () => {
  const sha256 = hash('sha256', rows);
  expect((await versionOf(whole)).dataset).toEqual({
    train: { file: 'asked/train.jsonl', sha256 },
    eval: { file: 'asked/eval.jsonl', sha256 },
    prompt: { user: '{item.question}?' },
    disjoint: ['topic'],
  });
});

test('another row or another word is another version, and no dataset is the version that it always was', async () => {
  const versions = await Promise.all([
    versionOf(whole),
    versionOf(whole, { ...files, 'asked/eval.jsonl': `${rows}${rows}` }),
    versionOf(whole.replace('}?', '}!')),
    versionOf(''),
  ]);
  expect(new Set(versions.map(({ version }) => version)).size).toBe(4);
  // As every version of Corral before datasets computed it.
  expect(versions[3]?.version).toBe('f2707682cb7df2fcb08eb7f71014394f23fc2b31ab642cce390d24262317aa89');
});

test('rows that are named with their digest need not be where the fleet runs, and are the same version there', async () => {
  const named = `dataset: { eval: { file: asked/eval.jsonl, sha256: ${hash('sha256', rows)} } }`;
  const [here, elsewhere] = await Promise.all([versionOf(named), versionOf(named, {})]);
  expect(here.version).toBe(elsewhere.version);
  expect(here.version).toBe((await versionOf('dataset: { eval: asked/eval.jsonl }')).version);
});

describe('a mistake is told where', () => {
  test.each([
    ['there are no rows', 'dataset: { prompt: x }', 'names no rows'],
    ['rows are not there', 'dataset: { train: asked/none.jsonl }', 'write {file, sha256}'],
    [
      'rows are others than was promised',
      `dataset: { train: { file: asked/train.jsonl, sha256: ${'a'.repeat(64)} } }`,
      `its sha256 is ${hash('sha256', rows)}`,
    ],
    [
      'the prompt’s file is not there',
      'dataset: { train: asked/train.jsonl, prompt: { file: p.md } }',
      'cannot be read',
    ],
    [
      'the prompt tells what the grader compares with',
      'dataset: { train: asked/train.jsonl, prompt: { system: "Say {item.answer}", user: x } }',
      'the model would read the answer',
    ],
    [
      'the prompt tells what is ours',
      'dataset: { train: asked/train.jsonl, prompt: "{item.corral.reference}" }',
      'which no trainer is given',
    ],
    [
      'one split is to be disjoint from nothing',
      'dataset: { train: asked/train.jsonl, disjoint: [topic] }',
      'there is only one of them',
    ],
  ])('%s', async (_what, dataset, said) => {
    expect(await mistakes(dataset)).toEqual([expect.stringContaining(said)]);
  });
});
