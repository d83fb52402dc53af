import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { partPid } from '#test/support/parts-of-fleet.ts';

/*
 * A policy that would rather have nobody trained: it writes what is expensive to read, and as much of it as it may. Another rollout
 * of the same fleet is answered all the while, and afterwards.
 */

const environment = `
name: shell
sandbox: { image: host, disk: 64Mi, processes: 256, memory: { request: 64Mi, limit: 512Mi } }
tools:
  shell: { builtin: shell, timeout: 30s }
  search: { builtin: search, timeout: 2s }
  names:
    command: [echo, "{names}"]
    parameters: { names: { type: array, items: { type: string, pattern: "^(a+)+$" }, uniqueItems: true } }
limits: { tool_calls: 4000 }
grader: { kind: f1, answer: output_json.files, reference: item.answer }
pool: { min_ready: 3, max: 6 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
  await watchOver('before', Promise.resolve());
});
afterAll(() => corral.stop());

const mebibyte = 1024 * 1024;
const item = '"item":{"id":"task-1","answer":["42"]}';

const call = (id: string, written: string, tool = 'shell') =>
  corral.raw(
    `/rft/shell/tools/${tool}`,
    `{"id":"f","call_id":"${id}","name":"${tool}","arguments":${written},${item},"trace_id":"attacker"}`,
  );

const grade = (trace: string, sample: string) =>
  corral.raw('/rft/shell/grade', `{"sample":${sample},${item},"trace_id":"${trace}"}`);

let calls = 0;

/** The clock of processor time in /proc has a hundred ticks a second. */
const tickMs = 10;

/** Processor time that the gateway has used. What else a busy machine does is not in it. */
function gatewayMs(): number {
  const stat = readFileSync(`/proc/${partPid(corral.fleet.stateDir, 'gateway')}/stat`, 'utf8');
  const [, , , , , , , , , , , user = '', system = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(user) + Number(system)) * tickMs;
}

/** The neighbour's calls, one after another until the attack is over; how much the gateway did before it answered the slowest. */
async function watchOver(attack: string, until: Promise<unknown>): Promise<number> {
  const over = new AbortController();
  const stop = () => over.abort();
  until.then(stop, stop);
  let slowestMs = 0;
  do {
    calls += 1;
    const startedMs = gatewayMs();
    const told = await corral.rft.call({
      trace: 'neighbour',
      call: `n${calls}`,
      command: 'echo here',
      item: { answer: ['42'] },
    });
    slowestMs = Math.max(slowestMs, gatewayMs() - startedMs);
    expect({ attack, ...told }).toMatchObject({ status: 200, body: { output: 'here\n' } });
  } while (!over.signal.aborted);
  return slowestMs;
}

/** A call takes some 20 ms. The gateway works on these bodies for seconds, and answers others in between. What this is about took 13 s. */
const bearableMs = 8_000;

async function attack<Answer>(name: string, attacking: Promise<Answer>): Promise<Answer> {
  expect(await watchOver(name, attacking)).toBeLessThan(bearableMs);
  return attacking;
}

const expensive: readonly (readonly [string, string])[] = [
  ['line ends in a fence that never ends', JSON.stringify({ output_text: `\`\`\`${'\n'.repeat(200_000)}x` })],
  ['nothing but backquotes', JSON.stringify({ output_text: '```\n'.repeat(200_000) })],
  [
    'nothing but steps up and down',
    JSON.stringify({ output_json: { files: [`${'x/'.repeat(200_000)}${'a/../'.repeat(100_000)}`] } }),
  ],
  ['half a million entries', JSON.stringify({ output_text: 'a\n'.repeat(250_000) })],
];

test.each(expensive)('a final answer of %s is graded at once', async (what, sample) => {
  const graded = await attack(what, grade(what.replaceAll(' ', '-'), sample));
  expect(graded).toMatchObject({ status: 200, body: { score: 0 } });
});

test('names that a pattern would be matched against for years, and ten thousand to compare with each other', async () => {
  const years = JSON.stringify({ names: [`${'a'.repeat(60_000)}!`] });
  expect(await attack('pattern', call('years', JSON.stringify(years), 'names'))).toMatchObject({
    status: 200,
    body: { output: expect.stringContaining('must match pattern') },
  });
  const many = JSON.stringify({ names: Array.from({ length: 9_000 }, (_, index) => ({ index })) });
  expect(await attack('repeats', call('many', JSON.stringify(many), 'names'))).toMatchObject({
    status: 200,
    body: { output: expect.stringMatching(/^Error: /) },
  });
});

test('a regular expression of its own runs out of the time of its tool, in its own sandbox', async () => {
  await call('prepare', JSON.stringify(JSON.stringify({ command: `printf '%060000d!' 0 | tr 0 a > line` })));
  const bomb = JSON.stringify({ query: '^(a+)+$', regex: true });
  expect(await attack('search', call('bomb', JSON.stringify(bomb), 'search'))).toMatchObject({
    status: 200,
    body: { output: expect.stringContaining('timed out after 2 s') },
  });
});

const flood = (name: string, count: number, send: (index: number) => Promise<unknown>) =>
  attack(name, Promise.all(Array.from({ length: count }, (_, index) => send(index))));

const echo = async (index: number) =>
  [index, await call(`p${index}`, JSON.stringify(`{"command":"echo ${index}"}`))] as const;

describe('many at once', () => {
  test('60 bodies of 330,000 values each are refused in words', async () => {
    const values = `{"command":[${'{},'.repeat(330_000)}{}]}`;
    for (const answer of await flood('values', 60, (index) => call(`v${index}`, values))) {
      expect(answer).toMatchObject({
        status: 200,
        body: { output: expect.stringContaining('more than 10000 values') },
      });
    }
  });

  test('20 bodies of 10 MB are refused in words', async () => {
    const long = `{"command":"${'x'.repeat(10 * mebibyte)}"}`;
    for (const answer of await flood('long', 20, (index) => call(`l${index}`, long))) {
      expect(answer).toMatchObject({ status: 200, body: { output: expect.stringContaining('too long') } });
    }
  });

  test('300 malformed calls are refused in words', async () => {
    const malformed = ['{"command":1e999}', '[]', '"no JSON"', '{"command":{"__proto__":1}}', 'null'];
    const sent = (index: number) => call(`m${index}`, malformed[index % malformed.length] ?? '');
    for (const answer of await flood('malformed', 300, sent)) {
      expect(answer).toMatchObject({ status: 200, body: { output: expect.stringMatching(/^Error: /) } });
    }
  });

  test('1,000 calls of one rollout are answered, each with its own output or that they are too many', async () => {
    const answers = (await flood('calls', 1_000, echo)) as (readonly [number, { readonly body: unknown }])[];
    const tooMany = 'Error: too many calls at once. Nothing ran. Wait for those that run.';
    for (const [index, answer] of answers) {
      expect(answer).toMatchObject({ status: 200, body: { output: expect.any(String) } });
      expect([`${index}\n`, tooMany]).toContain((answer.body as { output: string }).output);
    }
    const ran = answers.filter(([index, { body }]) => (body as { output: string }).output === `${index}\n`);
    expect(ran.length).toBeGreaterThanOrEqual(48);
  }, 180_000);
});

test('afterwards both are scored, and nothing was discarded', async () => {
  await watchOver('after', Promise.resolve());
  for (const trace of ['attacker', 'neighbour']) {
    expect(await grade(trace, '{"output_json":{"files":["42"]}}')).toMatchObject({
      status: 200,
      body: { score: 1 },
    });
  }
  const discards = await corral.native.get('/v1/runs/development/rollouts?verdict=discard');
  expect(discards.body).toEqual({ rollouts: [], cursor: null });
});
