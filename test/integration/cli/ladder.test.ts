import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodes } from '#cli/command-error.ts';
import type { LadderReport } from '#cli/ladder/ladder.ts';
import { runCorral } from '#test/support/command-line.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

const sandbox = '{ image: host, disk: 64Mi, memory: 256Mi, processes: 64 }';

/** The words of a file are the answer; half of them are enough for half of the reward. */
const words = `
name: words
sandbox: ${sandbox}
setup: [[sh, -c, 'printf "%s" "$CORRAL_ITEM_TEXT" > text']]
expose: [text]
tools: { shell: { builtin: shell } }
grader: { kind: f1, answer: output_json, reference: item.reference_answer }
pool: { min_ready: 2, max: 4 }
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

/** Scores nothing at all, but by a bad ending of its own. */
const broken = `
name: broken
sandbox: ${sandbox}
tools: { shell: { builtin: shell } }
grader: { kind: command, command: [sh, -c, 'exit 3'], on_exit: 0, on_timeout: 0, on_out_of_memory: 0, on_broken: 0 }
pool: { min_ready: 0, max: 4 }
`;

/** Its grader works where the policy never was, and is given one file. */
const elsewhere = `
name: elsewhere
sandbox: ${sandbox}
tools: { shell: { builtin: shell } }
grader:
  kind: command
  grade_in: fresh
  artifacts: [said]
  on_artifacts: 0.125
  command: [sh, -c, 'as-policy cat said > "$CORRAL_SCORE_FILE"; test ! -e /tmp/evil']
  on_exit: 0
  on_timeout: 0
  on_out_of_memory: 0
  on_broken: 0
pool: { min_ready: 1, max: 4, grader: { min_ready: 1, max: 2 } }
`;

const policies = {
  elsewhere: `
policies:
  - { name: answers, kind: good, calls: [{ tool: shell, arguments: { command: 'echo 1 > said; touch /tmp/evil' } }], answer: done, expect: [1, 1] }
  - { name: leaves-a-link, kind: cheat, calls: [{ tool: shell, arguments: { command: 'ln -s /proc/1/stat said' } }], answer: done, expect: [0.125, 0.125] }
`,
  words: `
policies:
  - name: first-word
    kind: naive
    calls:
      - { tool: shell, arguments: { command: cat text } }
      - { tool: shell, arguments: { command: 'printf "[\\"%s\\"]" "$(cut -d" " -f1 text)"' } }
    answer: '{output}'
    copies: 2
    expect: EXPECTED
`,
  stuck:
    'policies: [{ name: works, kind: good, calls: [{ tool: shell, arguments: { command: ls } }], answer: "7" }]',
  broken: 'policies: [{ name: works, kind: good, answer: "7" }]',
};

const rows = {
  words: [
    {
      id: 'a',
      text: 'x y',
      reference_answer: ['x', 'y'],
      corral: { reference: ['x', 'y'], cheating: ['z'] },
    },
    {
      id: 'b',
      text: 'v w',
      reference_answer: ['v', 'w'],
      corral: { reference: ['v', 'w'], cheating: ['z'] },
    },
  ],
  stuck: [{ id: 'a', answer: '7' }],
  broken: [{ id: 'a' }],
  elsewhere: [{ id: 'a' }],
};

let corral: FleetOfTest;
let folder = '';
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'corral-ladder-'));
  for (const [name, yaml] of Object.entries({ words, stuck, broken, elsewhere })) {
    writeFileSync(join(folder, `${name}.yaml`), yaml);
    mkdirSync(join(folder, name));
  }
  for (const [name, list] of Object.entries(rows))
    writeFileSync(join(folder, `${name}.items.jsonl`), list.map((row) => JSON.stringify(row)).join('\n'));
  corral = await startFleetOfTest({ environments: { words, stuck, broken, elsewhere } });
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await corral.stop();
});

async function climb(name: keyof typeof policies, expected = '[0.6, 0.7]') {
  writeFileSync(join(folder, name, 'policies.yaml'), policies[name].replace('EXPECTED', expected));
  const { gatewayUrl, apiKey } = corral.fleet;
  const there = ['--url', gatewayUrl, '--key', apiKey, '--environments', folder];
  const ran = await runCorral(['ladder', name, '--json', ...there]);
  return { ...ran, report: () => JSON.parse(ran.printed) as LadderReport };
}

test('policies that the reward puts in order pass, and the row’s own reference_answer stays the row’s', async () => {
  const { exitCode, report } = await climb('words');
  expect(report().rungs).toMatchObject([
    { policy: 'nothing', rollouts: 2, mean: 0, calls: 0, mistakes: [] },
    // One of two words: precision 1, recall 0.5.
    { policy: 'first-word', rollouts: 4, mean: 2 / 3, calls: 2, mistakes: [] },
    { policy: 'reference', mean: 1, mistakes: [] },
    { policy: 'cheating', mean: 0, mistakes: [] },
  ]);
  expect(exitCode).toBe(exitCodes.done);
});

test('a mean outside the range that was expected fails the ladder, though the order holds', async () => {
  const { exitCode, report } = await climb('words', '[0.1, 0.2]');
  expect(exitCode).toBe(exitCodes.notInOrder);
  expect(report().rungs.filter(({ mistakes }) => mistakes.length > 0)).toMatchObject([
    { policy: 'first-word', mistakes: ['0.667 is not between 0.1 and 0.2, as was expected'] },
  ]);
});

test('a failure of the machinery is told with its blame and has no mean: a ladder never learns from a zero of ours', async () => {
  const { exitCode, report } = await climb('stuck');
  expect(exitCode).toBe(exitCodes.notInOrder);
  expect(report().rungs).toContainEqual(
    expect.objectContaining({
      policy: 'works',
      mean: null,
      mistakes: [
        expect.stringMatching(
          /^1 of 1 rollouts have no score, and that is no zero: shell: .*setup_failed, blame: infrastructure/,
        ),
      ],
    }),
  );
});

test('a grader that ends badly where nothing had run is broken, though its score is what was expected', async () => {
  const { exitCode, report } = await climb('broken');
  expect(exitCode).toBe(exitCodes.notInOrder);
  expect(report().rungs[0]).toMatchObject({
    policy: 'nothing',
    mistakes: [expect.stringContaining('the grader is broken: nothing had run')],
  });
});

test('a grader elsewhere puts policies in order by what they leave for it, and one that leaves nothing has its own score', async () => {
  const { exitCode, report } = await climb('elsewhere');
  expect(report().rungs).toMatchObject([
    { policy: 'nothing', mean: 0.125, mistakes: [] },
    { policy: 'answers', mean: 1, mistakes: [] },
    { policy: 'leaves-a-link', mean: 0.125, mistakes: [] },
  ]);
  expect(exitCode).toBe(exitCodes.done);
});

test('a policy that calls what is no tool, or an environment without rows, is its author’s to fix', async () => {
  policies.stuck = policies.stuck.replace('tool: shell', 'tool: bash');
  const wrong = await climb('stuck');
  expect(wrong).toMatchObject({
    exitCode: exitCodes.yours,
    said: expect.stringContaining('bash, which is not a tool here'),
  });
  rmSync(join(folder, 'broken.items.jsonl'));
  const rowless = await climb('broken');
  expect(rowless).toMatchObject({
    exitCode: exitCodes.yours,
    said: expect.stringContaining('has no rows to play on'),
  });
});

test('an environment that is not in the folder is named as missing, instead of its rows', async () => {
  const { gatewayUrl, apiKey } = corral.fleet;
  const there = ['--url', gatewayUrl, '--key', apiKey, '--environments', folder];
  expect(await runCorral(['ladder', 'brokn', ...there])).toMatchObject({
    exitCode: exitCodes.yours,
    said: expect.stringMatching(/there is no environment brokn in .*\n.*\n.*there is: /) as string,
  });
});
