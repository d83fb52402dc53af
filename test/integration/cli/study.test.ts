import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import type { Study } from '#cli/study/study.ts';
import { runCorral } from '#test/support/command-line.ts';
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

/** No rollout of it ever gets as far as its first call. */
const stuck = `
name: stuck
sandbox: ${sandbox}
setup: [[sh, -c, 'exit 3']]
tools: { shell: { builtin: shell } }
grader: { kind: text, answer: output_text, reference: item.answer }
pool: { min_ready: 0, max: 4 }
`;

/** Scripts without chance: their copies are equal. */
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
`;
const stuckPolicies =
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
  for (const [name, yaml] of Object.entries({ words, stuck })) {
    writeFileSync(at(`${name}.yaml`), yaml);
    mkdirSync(at(name));
  }
  writeFileSync(at('words/policies.yaml'), policies);
  writeFileSync(at('stuck/policies.yaml'), stuckPolicies);
  writeFileSync(at('words.items.jsonl'), jsonl(rows));
  writeFileSync(at('eval.jsonl'), jsonl(evaluation));
  writeFileSync(at('stuck.items.jsonl'), jsonl([{ id: 'a', answer: '7' }]));
  corral = await startFleetOfTest({ environments: { words, stuck } });
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
    expect(dataset?.overlap?.fields).toMatchObject([{ field: 'document', evalRows: 1 }]);
    const page = readFileSync(report, 'utf8');
    expect(page).toContain('0 % of the items have spread under looks-twice');
    expect(page).not.toContain('<script');
  });

  test('a failure of the machinery is told with its blame, and there is no mean to learn a zero from', async () => {
    const { exitCode, told } = await study('stuck', '--copies', '1');
    expect(exitCode).toBe(exitCodes.done);
    expect(told().subjects).toMatchObject([
      {
        mean: null,
        items: [],
        discarded: { rollouts: 1, causes: [{ code: 'setup_failed', blame: 'infrastructure' }] },
      },
    ]);
  });

  test('a policy, a row count or an environment that is none is the caller’s to mend', async () => {
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
    expect((await study('stuck', '--run', 'before')).said).toContain('it is of words');
  });
});
