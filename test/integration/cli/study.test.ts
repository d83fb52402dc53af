import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import type { Study } from '#cli/study/found.ts';
import {
  type ChatRequest,
  type ScriptedEndpoint,
  scriptedEndpoint,
  type ScriptedReply,
} from '#test/support/chat-endpoint.ts';
import { runCorral } from '#test/support/command-line.ts';
import { scriptOf } from '#test/support/documented-commands.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

const sandbox = '{ image: host, disk: 64Mi, memory: 256Mi, processes: 64 }';

/** Half of the reward is for the word, half for having looked. */
const words = `
name: words
sandbox: ${sandbox}
expose: [word]
setup: [[sh, -c, 'printf "%s" "$CORRAL_ITEM_WORD" > word']]
tools: { shell: { builtin: shell } }
grader:
  kind: weighted
  parts:
    - { weight: 1, grader: { kind: text, answer: output_text, reference: item.answer } }
    - { weight: 1, grader: { kind: text, answer: output_text, reference: item.first } }
pool: { min_ready: 4, max: 8 }
`;

/** Its grader never gives a score. */
const broken = `
name: broken
sandbox: ${sandbox}
tools: { shell: { builtin: shell } }
grader:
  kind: command
  command: [sh, -c, 'exit 3']
  on_exit: discard
  on_timeout: discard
  on_out_of_memory: discard
  on_broken: discard
pool: { min_ready: 1, max: 4 }
`;

/** The first two are scripts without chance: their copies are equal. Of the third, only the first copy finds the word. */
const policies = `
policies:
  - name: looks-twice
    kind: naive
    calls:
      - { tool: shell, arguments: { command: cat word } }
      - { tool: shell, arguments: { command: cat word } }
    answer: '{output}'
  - name: says-nothing
    kind: good
    answer: none
  - name: first-copy-finds
    kind: cheat
    calls: [{ tool: shell, arguments: { command: 'sed -n {copy}p word' } }]
    answer: '{output}'
`;
const brokenPolicies =
  'policies: [{ name: works, kind: good, calls: [{ tool: shell, arguments: { command: ls } }], answer: "7" }]';

const rows = [
  { id: 'a', word: 'apple', answer: 'apple', first: 'apple', document: 'fruit' },
  { id: 'b', word: 'bean', answer: 'bean', first: 'b', document: 'greens' },
  { id: 'c', word: 'corn', answer: 'maize', first: 'm', document: 'greens' },
];
const evaluation = [{ id: 'e', word: 'pear', answer: 'pear', first: 'p', document: 'fruit' }];

const jsonl = (list: readonly object[]) => list.map((row) => JSON.stringify(row)).join('\n');

let corral: FleetOfTest;
let folder = '';
const at = (name: string) => join(folder, name);
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'corral-study-'));
  for (const [name, yaml] of Object.entries({ words, broken })) {
    writeFileSync(at(`${name}.yaml`), yaml);
    mkdirSync(at(name));
  }
  writeFileSync(at('words/policies.yaml'), policies);
  writeFileSync(at('broken/policies.yaml'), brokenPolicies);
  writeFileSync(at('words.items.jsonl'), jsonl(rows));
  writeFileSync(at('eval.jsonl'), jsonl(evaluation));
  writeFileSync(at('broken.items.jsonl'), jsonl([{ id: 'a', answer: '7' }]));
  corral = await startFleetOfTest({ environments: { words, broken } });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await corral.stop();
});

async function study(...args: readonly string[]) {
  const { gatewayUrl, apiKey } = corral.fleet;
  const there = ['--url', gatewayUrl, '--key', apiKey, '--environments', folder, '--out', at('report.html')];
  const ran = await runCorral(['study', ...args, '--json', ...there]);
  return { ...ran, told: () => JSON.parse(ran.printed) as Study & { readonly report: string } };
}

describe('of a ladder', () => {
  test('policies are played several times and seen call by call, with the parts of their scores; the report is one file', async () => {
    const { exitCode, told } = await study('words', '--copies', '2', '--eval', at('eval.jsonl'));
    expect(exitCode).toBe(exitCodes.done);
    const { subjects, dataset, report } = told();
    const [first, other] = subjects;
    expect(other).toMatchObject({ name: 'says-nothing', mean: 0, shares: { always0: 1 } });
    expect(first).toMatchObject({
      name: 'looks-twice',
      rollouts: 6,
      discarded: { rollouts: 0 },
      // Both halves for apple, one for bean, none for corn.
      mean: 0.5,
      shares: { judged: 3, spread: 0, always1: 1 / 3, always0: 1 / 3, alike: 1 / 3 },
      withoutChance: true,
      traces: { calls: 12, p95: 2, repeats: { calls: 12, repeated: 6 } },
    });
    // "apple" is a token, as are the others.
    expect(first?.traces.tools[0]).toMatchObject({ tool: 'shell', tokens: { mean: expect.closeTo(1, 0) } });
    expect(first?.parts.map(({ mean }) => mean)).toEqual([0.5, 2 / 3, 1 / 3]);
    expect(dataset?.overlap?.shared).toMatchObject([{ by: 'document', eval: { rows: 1, of: 1 } }]);
    const page = readFileSync(report, 'utf8');
    expect(page).toContain('0 % of the items have spread under looks-twice');
    expect(page).not.toContain('<script');
  });

  test('a script is told which copy it plays, so copies that differ have spread', async () => {
    const { told } = await study('words', '--policy', 'first-copy-finds', '--copies', '2');
    expect(told().subjects[0]).toMatchObject({
      withoutChance: false,
      mean: 0.25,
      shares: { judged: 3, spread: 2 / 3, always0: 1 / 3 },
    });
  });

  test('a failure of the machinery is told with its blame, and there is no mean to learn a zero from', async () => {
    const { exitCode, told } = await study('broken', '--copies', '1');
    expect(exitCode).toBe(exitCodes.done);
    expect(told().subjects).toMatchObject([
      {
        mean: null,
        items: [],
        discarded: { rollouts: 1, causes: [{ code: 'grader_failed', blame: 'infrastructure' }] },
      },
    ]);
  });

  test('a policy, a row count or an environment that is none is the caller’s to fix', async () => {
    const wrong = await study('words', '--policy', 'nobody');
    expect([wrong.exitCode, wrong.said]).toEqual([
      exitCodes.yours,
      expect.stringContaining('there is no policy nobody'),
    ]);
    expect((await study('words', '--copies', '0')).exitCode).toBe(exitCodes.yours);
  });
});

async function runOf(run: string, answers: Readonly<Record<string, readonly string[]>>) {
  for (const [id, copies] of Object.entries(answers)) {
    for (const [copy, said] of copies.entries()) await playOne(run, `${run}-${id}-${copy}`, id, said);
  }
}

async function playOne(run: string, rollout: string, id: string, said: string) {
  const item = rows.find((row) => row.id === id) ?? {};
  const headers = { 'x-corral-run': run };
  const ofRollout = { trace: rollout, environment: 'words', item };
  await corral.rft.call({ ...ofRollout, call: 'call_1', command: 'cat word' }, headers);
  const sample = { output_text: said, output_tools: [{ id: 'call_1' }] };
  await corral.rft.grade({ ...ofRollout, sample }, headers);
}

describe('of a recorded run', () => {
  beforeAll(async () => {
    await runOf('before', { a: ['apple', 'pear'], b: ['x', 'y'] });
    await runOf('after', { a: ['apple', 'apple'], b: ['bean', 'y'] });
  });

  test('items, parts and calls are read from what the fleet logged, and two runs are compared item by item', async () => {
    const { exitCode, told } = await study('words', '--run', 'before', '--against', 'after');
    expect(exitCode).toBe(exitCodes.done);
    const { subjects, against, missing } = told();
    expect(missing).toEqual([]);
    expect(subjects).toMatchObject([
      {
        name: 'before',
        what: 'run',
        scored: 4,
        withoutItem: 0,
        shares: { judged: 2, spread: 0.5, always0: 0.5 },
        traces: { calls: 4, perRollout: 1 },
      },
    ]);
    expect(subjects[0]?.parts).toHaveLength(3);
    expect(against?.quadrants).toMatchObject({ items: 2, counts: { better: { same: 2 } } });
  });

  test('from a file of events the same is told, and told the same each time', async () => {
    const events = await fetch(`${corral.fleet.gatewayUrl}/v1/runs/before/events`, {
      headers: { authorization: `Bearer ${corral.fleet.apiKey}` },
    });
    const verdicts = await fetch(`${corral.fleet.gatewayUrl}/v1/runs/before/events?only=verdicts`, {
      headers: { authorization: `Bearer ${corral.fleet.apiKey}` },
    });
    writeFileSync(at('events.jsonl'), `${await events.text()}\n${await verdicts.text()}`);
    const offline = () => study('words', '--run', 'before', '--events', at('events.jsonl'));
    const [one, again, online] = [await offline(), await offline(), await study('words', '--run', 'before')];
    expect(one.printed).toBe(again.printed);
    expect(one.told().subjects).toEqual(online.told().subjects);
  });

  test('a run of which nothing is logged, or nothing of this environment, is told as that', async () => {
    const { exitCode, said } = await study('words', '--run', 'never');
    expect([exitCode, said]).toEqual([
      exitCodes.yours,
      expect.stringContaining('nothing is logged of the run never'),
    ]);
    expect((await study('broken', '--run', 'before')).said).toContain('it is of words');
  });
});

const looks: ScriptedReply = { calls: [{ name: 'shell', arguments: '{"command":"cat word"}' }] };
/** What the model was told last. */
const last = ({ messages }: ChatRequest) => messages.at(-1) ?? { role: 'nobody', content: null };
/** Looks, and says what it saw. */
const answers = (request: ChatRequest): ScriptedReply =>
  last(request).role === 'tool' ? { text: last(request).content ?? '' } : looks;

describe('of a model behind an endpoint', () => {
  const endpoints: ScriptedEndpoint[] = [];
  afterEach(async () => {
    for (const endpoint of endpoints.splice(0)) await endpoint.close();
  });
  async function played(reply: Parameters<typeof scriptedEndpoint>[0], ...args: readonly string[]) {
    const endpoint = await scriptedEndpoint(reply);
    endpoints.push(endpoint);
    writeFileSync(at('prompt.txt'), 'Say the word of {item.document}.');
    const model = [
      '--model',
      'scripted',
      '--endpoint',
      endpoint.url,
      '--prompt',
      at('prompt.txt'),
      '--copies',
      '1',
    ];
    return { ...(await study('words', ...model, '--key-variable', 'STUDY_TEST_KEY', ...args)), endpoint };
  }
  test('it is shown prompt and tools, its calls run in sandboxes, and its last message is graded', async () => {
    vi.stubEnv('STUDY_TEST_KEY', 'a-key');
    const { exitCode, told, endpoint, printed, said } = await played(answers);
    vi.unstubAllEnvs();
    expect(exitCode).toBe(exitCodes.done);
    expect(told().subjects).toMatchObject([
      {
        name: 'scripted',
        what: 'model',
        scored: 3,
        mean: 0.5,
        traces: { calls: 3 },
        writtenTokens: { mean: 20 },
      },
    ]);
    const [first] = endpoint.requests;
    expect(first).toMatchObject({
      authorization: 'Bearer a-key',
      body: { model: 'scripted', max_tokens: 4096, tools: [{ function: { name: 'shell' } }] },
    });
    expect(endpoint.requests.map(({ body }) => body.messages[0]?.content)).toContain(
      'Say the word of fruit.',
    );
    expect(printed + said).not.toContain('a-key');
  });

  test('an endpoint that fails is told as that: its rollouts have no score, and no zero is made of them', async () => {
    const failing: readonly ScriptedReply[] = [
      { status: 400, body: 'too long' },
      { text: 'withheld', finish: 'content_filter' },
      { status: 200, body: 'it is late' },
    ];
    // One rollout after the other.
    let begun = 0;
    const { told } = await played(() => failing[(begun += 1) - 1] ?? looks, '--at-once', '1');
    const [subject] = told().subjects;
    expect(subject).toMatchObject({ scored: 0, mean: null, discarded: { rollouts: 3 } });
    for (const cause of subject?.discarded.causes ?? [])
      expect(cause).toMatchObject({ blame: 'the endpoint', at: 'the model’s endpoint' });
  });

  test('what passes is tried again: a busy endpoint costs no rollout', async () => {
    const { told, endpoint } = await played((request, tries) => {
      if (last(request).role === 'tool') return { text: last(request).content ?? '' };
      return tries === 1 ? { status: 429, retryAfter: '0' } : looks;
    });
    expect(told().subjects).toMatchObject([{ scored: 3, mean: 0.5, discarded: { rollouts: 0 } }]);
    expect(endpoint.requests.length).toBeGreaterThan(6);
  });

  test('a model that never comes to an answer ends at its turns, and that is told as its own', async () => {
    const { told } = await played(() => looks, '--turns', '3', '--rows', '1');
    expect(told().subjects[0]?.discarded.causes).toMatchObject([{ code: 'turns_spent', blame: 'model' }]);
  });

  test('what the model gets wrong is told to it, as a training platform would, and it goes on', async () => {
    const { told, endpoint } = await played((request) => {
      const { role, content } = last(request);
      if (role !== 'tool') return { calls: [{ name: 'browser', arguments: '{}' }] };
      if (content?.includes('there is no tool browser'))
        return { calls: [{ name: 'shell', arguments: 'cat word' }] };
      return { text: 'apple', finish: 'length' };
    });
    const { subjects, missing } = told();
    expect(subjects).toMatchObject([{ scored: 3, discarded: { rollouts: 0 }, traces: { calls: 3 } }]);
    expect(missing).toEqual(['3 replies of scripted were cut off (--max-tokens), and counted as they were']);
    const heard = endpoint.requests.map(({ body }) => last(body).content ?? '');
    expect(heard.some((text) => text.includes('not valid JSON') || text.includes('JSON'))).toBe(true);
  });

  test('the budget of tokens ends the study, and what was not begun is told', async () => {
    const { told, endpoint } = await played(
      () => ({ text: 'apple' }),
      '--token-budget',
      '100',
      '--at-once',
      '1',
    );
    expect(endpoint.requests).toHaveLength(1);
    expect(told()).toMatchObject({
      subjects: [{ rollouts: 1 }],
      missing: [expect.stringContaining('2 of 3 rollouts were not begun')],
    });
  });

  test('a key that is refused, or a prompt that tells the answer, ends the study before a rollout is spent', async () => {
    const refused = await played(() => ({ status: 401, body: 'who are you' }));
    expect([refused.exitCode, refused.said]).toEqual([
      exitCodes.yours,
      expect.stringContaining('answered 401'),
    ]);
    writeFileSync(at('telling.txt'), 'It is {item.answer}.');
    const telling = await played(() => ({ text: 'apple' }), '--prompt', at('telling.txt'));
    expect([telling.exitCode, telling.said]).toEqual([
      exitCodes.yours,
      expect.stringContaining('with which the grader compares'),
    ]);
    expect(telling.endpoint.requests).toHaveLength(0);
  });
});

test('every command of the page about it runs', async () => {
  const endpoint = await scriptedEndpoint(answers);
  const names: readonly (readonly [string, string])[] = [
    ['finance-docs --environments gallery', 'words'],
    ['one-search reader', 'looks-twice says-nothing'],
    ['code-edit-planning', 'words'],
    ['first-word', 'looks-twice'],
    ['rare-words', 'says-nothing'],
    ['last-night', 'after'],
    ['nightly', 'before'],
    ['events.jsonl', at('events.jsonl')],
    ['https://models.example.com/v1', `${endpoint.url} --prompt ${at('prompt.txt')}`],
  ];
  const page = readFileSync(join(import.meta.dirname, '../../../docs/study.md'), 'utf8');
  const commands = scriptOf(page, false).trim().split('\n');
  expect(commands).toHaveLength(6);
  for (const command of commands) {
    const here = names.reduce((line, [name, ours]) => line.replaceAll(name, ours), command);
    const [begin, args] = here.split(' study ');
    expect(begin).toBe('npm run corral --');
    // One rollout of a row shows as well as four that the command runs.
    const few = command.includes('--copies') ? [] : ['--copies', '1'];
    expect([command, (await study(...(args ?? '').split(' '), ...few)).exitCode]).toEqual([
      command,
      exitCodes.done,
    ]);
  }
  await endpoint.close();
});
