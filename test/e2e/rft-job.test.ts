import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCorral } from '../support/command-line.ts';
import { scriptOf } from '../support/documented-commands.ts';
import { type FleetOfTest, startFleetOfTest } from '../support/fleet.ts';
import { runBlocks } from '../support/how-to/page.ts';

/* docs/clients/rft.md: a trainer that knows nothing but the job's fields plays the page's job. */

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/clients/rft.md'), 'utf8');
const environments = join(root, 'environments');

const closed = { additionalProperties: false };
const Headers = Type.Record(Type.String(), Type.String());
const auto = Type.Union([Type.Number(), Type.Literal('auto')]);
const Tool = Type.Object({ name: Type.String(), server_url: Type.String(), headers: Headers }, closed);
const Grader = Type.Object(
  {
    type: Type.Literal('endpoint'),
    url: Type.String(),
    headers: Headers,
    rate_limit: Type.Number(),
    pass_threshold: Type.Number(),
  },
  closed,
);
const Hyperparameters = Type.Object(
  {
    n_epochs: auto,
    batch_size: auto,
    learning_rate_multiplier: auto,
    compute_multiplier: auto,
    reasoning_effort: Type.String(),
    eval_interval: auto,
    eval_samples: auto,
  },
  closed,
);
const Reinforcement = Type.Object(
  {
    tools: Type.Array(Tool),
    max_episode_steps: Type.Integer(),
    grader: Grader,
    hyperparameters: Hyperparameters,
  },
  closed,
);
/** The fields that the platforms take, and no other. */
const Job = Type.Object(
  {
    model: Type.String(),
    training_file: Type.String(),
    validation_file: Type.String(),
    suffix: Type.String(),
    seed: Type.Integer(),
    method: Type.Object({ type: Type.Literal('reinforcement'), reinforcement: Reinforcement }, closed),
  },
  closed,
);
type Reinforced = Static<typeof Reinforcement>;
const Row = Type.Object({
  messages: Type.Array(Type.Object({ role: Type.String(), content: Type.String() })),
  question: Type.String(),
  answer: Type.String(),
});
type Row = Static<typeof Row>;

const [, json = ''] = /```json\n([^`]*)```/.exec(page) ?? [];
const written = Value.Parse(Job, JSON.parse(json)).method.reinforcement;

let corral: FleetOfTest;
let rows: readonly Row[];
beforeAll(async () => {
  const shell = readFileSync(join(environments, 'shell.yaml'), 'utf8').replace(/^dataset:\n(?: .*\n)+/m, '');
  const small = shell.replace('name: shell', 'name: small\nlimits: { tool_calls: 2 }');
  corral = await startFleetOfTest({ environments: { shell, small } });
  const args = ['rows', 'shell', '--split', 'train', '--for', 'rft', '--environments', environments];
  const { printed } = await runCorral(args);
  rows = printed
    .trim()
    .split('\n')
    .map((line) => Value.Parse(Row, JSON.parse(line)));
});
afterAll(() => corral.stop());

/** The page's job at this fleet. */
function jobHere(environment = 'shell'): Reinforced {
  const text = JSON.stringify(written)
    .replaceAll('https://corral.example.com/rft/shell/', `${corral.fleet.gatewayUrl}/rft/${environment}/`)
    .replaceAll('corral_foundry_…', corral.fleet.apiKey);
  return Value.Parse(Reinforcement, JSON.parse(text));
}

async function send(url: string, headers: Readonly<Record<string, string>>, body: unknown) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json() };
}

/** One rollout of a model that makes so many calls, and answers what the last one printed. */
async function play(job: Reinforced, row: Row, trace: string, steps = 1) {
  const { messages: _, ...item } = row;
  const tool = job.tools.find(({ name }) => name === 'shell');
  if (tool === undefined) throw new Error('the job has no tool shell');
  const outputs: string[] = [];
  const used: { id: string; type: 'function'; function: { name: string; arguments: string } }[] = [];
  for (let step = 1; step <= Math.min(steps, job.max_episode_steps); step += 1) {
    const call = `call_${trace}_${step}`;
    const given = JSON.stringify({ command: `echo $(( ${row.question.replaceAll(/[^-\d+*/ ()]/g, '')} ))` });
    const body = { type: 'function_call', id: `fc_${call}`, call_id: call, name: 'shell', arguments: given };
    const answer = await send(tool.server_url, tool.headers, { ...body, item, trace_id: trace });
    expect(answer).toMatchObject({ status: 200, body: { type: 'function_call_output', call_id: call } });
    outputs.push(String((answer.body as { output: unknown }).output).trim());
    used.push({ id: call, type: 'function', function: { name: 'shell', arguments: given } });
  }
  const text = outputs[0] ?? '';
  const message = { role: 'assistant', content: text, tool_calls: [] };
  const sample = { choices: [{ message }], output_text: text, output_json: null, output_tools: used };
  const graded = await send(job.grader.url, job.grader.headers, { sample, item, trace_id: trace });
  return { outputs, graded };
}

test('every field of the job has its row on the page, except the model and what only the trainer reads', () => {
  const table = page.split('| field |')[1]?.split('\n\n')[0] ?? '';
  const fields = [
    ...Object.keys(Tool.properties),
    ...Object.keys(Grader.properties),
    ...Object.keys(Hyperparameters.properties),
    'max_episode_steps',
    'model',
    'suffix',
    'seed',
  ];
  expect(fields.filter((field) => !new RegExp(`\\b${field}\\b`).test(table))).toEqual([]);
});

test('a trainer with the exact fields of the job gets a score for each row of a batch', async () => {
  const job = jobHere();
  const arithmetic = rows.filter(({ question }) => /^What is [-\d+* ()]+\?$/.test(question));
  expect(arithmetic.length).toBeGreaterThan(1);
  const played = await Promise.all(arithmetic.map((row, index) => play(job, row, `trace_row_${index}`)));
  expect(played.map(({ graded }) => graded)).toEqual(
    arithmetic.map(() => ({ status: 200, body: { score: 1 } })),
  );
});

test('a rollout with more steps than limits.tool_calls reads that its budget is spent, and is still graded', async () => {
  const row = rows.find(({ question }) => /^What is [-\d+* ()]+\?$/.test(question));
  if (row === undefined) throw new Error('no row is arithmetic');
  const { outputs, graded } = await play(jobHere('small'), row, 'trace_budget', 4);
  expect(outputs.slice(0, 2)).toEqual([row.answer, row.answer]);
  expect(outputs.slice(2).every((output) => /budget|calls/i.test(output) && output !== row.answer)).toBe(
    true,
  );
  expect(graded).toEqual({ status: 200, body: { score: 1 } });
});

test.each([
  ['a wrong key', { authorization: 'Bearer wrong' }],
  ['no key', {}],
])('a grader with %s answers 503, never a score', async (_, headers) => {
  const { grader } = jobHere();
  const body = {
    sample: { output_text: '42', output_tools: [] },
    item: { answer: '42' },
    trace_id: 'trace_unknown_key',
  };
  const answer = await send(grader.url, headers, body);
  expect(answer).toMatchObject({ status: 503, body: { error: { code: 'unauthorized' } } });
});

test('the commands of the page create both keys, check the fleet and write the training files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'corral-rft-'));
  try {
    for (const path of ['shell', 'shell.yaml'])
      cpSync(join(environments, path), join(folder, 'environments', path), { recursive: true });
    const script = scriptOf(page, false)
      .replace('corral_checks_…', corral.fleet.apiKey)
      // The page's check holds a request for 70 s, to find proxies that cut it; here is no proxy.
      .replace('http://127.0.0.1:8700', `${corral.fleet.gatewayUrl} --hold 1`);
    const printed = await runBlocks(script, folder);
    expect(printed.match(/^corral_(?:foundry|checks)_\S+$/gm)).toHaveLength(2);
    expect(printed).toContain('"server_url"');
    const training = readFileSync(join(folder, 'train.jsonl'), 'utf8').trim().split('\n');
    expect(training.map((line) => Value.Parse(Row, JSON.parse(line)))).toEqual(rows);
    expect(readFileSync(join(folder, 'validation.jsonl'), 'utf8')).toContain('"messages"');
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 120_000);
