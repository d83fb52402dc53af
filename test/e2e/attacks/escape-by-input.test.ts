import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type JoinedFleet, joinSharedFleet } from '#test/support/shared-fleet.ts';

/*
 * A policy that would rather be discarded than scored low, and writes what no program expects: into the arguments of its
 * calls, into its final answer, into the name of a tool. Each of these is its own mistake, and is answered or graded as such.
 */

const environment = `
name: odd-input
sandbox: { image: host, disk: 64Mi, processes: 64 }
tools:
  shell: { builtin: shell, timeout: 30s }
  note: { command: [echo, "{text}"], parameters: { type: object, properties: { text: { type: string } } } }
limits: { tool_calls: 1000 }
on_too_long: -1
grader: { kind: text, reference: item.answer }
pool: { min_ready: 3, max: 8 }
`;

let corral: JoinedFleet;
beforeAll(async () => {
  corral = await joinSharedFleet({ 'odd-input': environment });
});
afterAll(() => corral.leave());

const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
const mebibyte = 1024 * 1024;

/** As JSON text: most of it cannot be said in values of JavaScript. */
const bad: readonly (readonly [string, string])[] = [
  ['a number that JSON cannot hold', '{"command":1e999}'],
  ['such a number beside good ones', '{"command":"true","n":-1e999}'],
  ['a __proto__', '{"command":"true","__proto__":{"x":1}}'],
  ['a __proto__ that is no object', '{"command":"true","__proto__":1}'],
  ['a constructor with a prototype', '{"command":"true","constructor":{"prototype":{"x":1}}}'],
  ['an inherited name instead of the argument', '{"toString":"true"}'],
  ['5,000 levels', `{"command":${deep(5_000)}}`],
  ['half a million levels', `{"command":${deep(500_000)}}`],
  ['330,000 empty objects', `{"command":[${'{},'.repeat(330_000)}{}]}`],
  ['2 MB', `{"command":"${'x'.repeat(2 * mebibyte)}"}`],
  ['20 MB', `{"command":"${'x'.repeat(20 * mebibyte)}"}`],
  ['a name of 1 MB', `{"${'x'.repeat(mebibyte)}":1}`],
  ['nothing that is JSON', 'command: true'],
  ['a list', '[]'],
];

const rft = (trace: string, call: string, given: string, name = 'shell') =>
  `{"type":"function_call","id":"fc_${call}","call_id":"${call}","name":${JSON.stringify(name)},` +
  `"arguments":${given},"item":{"id":"task-1","answer":"42"},"trace_id":"${trace}"}`;

/** Text for the model that is short, whatever it wrote. */
const told = expect.stringMatching(/^Error: [^]{1,1000}$/);

const isJson = (text: string) => text !== 'command: true';

describe('arguments of a call', () => {
  test.each(bad)(
    'with %s are refused with text for the model, as text and as a value',
    async (what, given) => {
      const call = what.replaceAll(/\W/g, '-');
      for (const [id, written] of [
        [`${call}-text`, JSON.stringify(given)],
        ...(isJson(given) ? [[`${call}-value`, given] as const] : []),
      ] as const) {
        const answer = await corral.raw('/rft/odd-input/tools/shell', rft('arguments', id, written));
        expect(answer).toMatchObject({ status: 200, body: { call_id: id, id: `fc_${id}`, output: told } });
        const again = await corral.raw('/rft/odd-input/tools/shell', rft('arguments', id, written));
        expect(again).toEqual(answer);
      }
    },
    60_000,
  );

  test('on the native face are refused the same way', async () => {
    await corral.native.open('native');
    for (const [index, [, given]] of bad.filter(([, text]) => isJson(text)).entries()) {
      const body = `{"call_id":"c${index}","name":"shell","arguments":${given}}`;
      expect(await corral.raw('/v1/rollouts/native/calls', body)).toMatchObject({
        status: 200,
        body: { outcome: 'refused', code: 'bad_arguments', call_id: `c${index}`, output: told },
      });
    }
  });

  test('that a lenient schema lets in run as they are', async () => {
    const given = '{"text":"hi","__proto__":{"text":"no"},"constructor":1}';
    const answer = await corral.raw('/rft/odd-input/tools/note', rft('lenient', 'c1', given));
    expect(answer).toMatchObject({ status: 200, body: { output: 'hi\n' } });
    const none = await corral.raw(
      '/rft/odd-input/tools/note',
      rft('lenient', 'c2', '{"__proto__":{"text":"no"}}'),
    );
    expect(none).toMatchObject({ status: 200, body: { output: '\n' } });
  });

  test('of which the envelope stands behind them are found all the same', async () => {
    const body = `{"arguments":"${'x'.repeat(3 * mebibyte)}","trace_id":"arguments","call_id":"last","id":"i","name":"shell"}`;
    expect(await corral.raw('/rft/odd-input/tools', body)).toMatchObject({
      status: 200,
      body: { call_id: 'last', id: 'i', output: told },
    });
  });

  test('leave their rollout recorded, scorable and scored', async () => {
    const { body } = await corral.native.get('/v1/rollouts/arguments');
    const { calls } = body as { calls: { outcome: string; code: string }[] };
    expect(calls.length).toBeGreaterThan(bad.length);
    for (const call of calls) expect(call).toMatchObject({ outcome: 'refused', code: 'bad_arguments' });
    expect(await corral.rft.grade({ trace: 'arguments', sample: { output_text: 'no' } })).toMatchObject({
      status: 200,
      body: { score: 0 },
    });
  });
});

test.each([['constructor'], ['__proto__'], ['toString'], ['prototype'], ['x'.repeat(200_000)]])(
  'a tool of the name %.20s is unknown, where the model may have chosen it',
  async (name) => {
    await corral.native.open('names');
    const id = name.slice(0, 20);
    const native = await corral.native.post('/v1/rollouts/names/calls', { call_id: id, name, arguments: {} });
    expect(native).toMatchObject({
      status: 200,
      body: { outcome: 'refused', code: 'unknown_tool', output: told },
    });
    const shared = await corral.raw('/rft/odd-input/tools', rft('names_rft', id, '"{}"', name));
    expect(shared).toMatchObject({ status: 200, body: { output: told } });
  },
);

const sampleOf = (outputText: string, more = '') => `{"output_text":${outputText}${more}}`;

/** The sample, and what it is worth: the right answer is "42", what is too long is -1. */
const samples: readonly (readonly [string, string, number])[] = [
  [
    'a number that JSON cannot hold beside the right answer',
    sampleOf('"42"', ',"output_json":{"x":1e999}'),
    1,
  ],
  ['a number that JSON cannot hold as the answer', sampleOf('1e999'), 0],
  ['a __proto__ beside the right answer', sampleOf('"42"', ',"__proto__":{"output_text":"no"}'), 1],
  ['a __proto__ with the right answer', '{"__proto__":{"output_text":"42"}}', 0],
  ['a constructor', sampleOf('"42"', ',"constructor":{"prototype":1}'), 1],
  ['half a million levels', sampleOf('"no"', `,"output_json":${deep(500_000)}`), 0],
  ['330,000 empty objects', sampleOf('"no"', `,"output_json":[${'{},'.repeat(330_000)}{}]`), 0],
  ['330,000 empty calls', sampleOf('"no"', `,"choices":[${'{},'.repeat(330_000)}{}]`), 0],
  ['an answer of 2 MB', sampleOf(`"42${' '.repeat(2 * mebibyte)}"`), -1],
  ['an answer of 20 MB', sampleOf(`"42${' '.repeat(20 * mebibyte)}"`), -1],
  ['a fence that costs', sampleOf(JSON.stringify(`\`\`\`${'\n'.repeat(3_000)}x`)), 0],
];

describe('a final answer', () => {
  test.each(samples)(
    'with %s is graded as what it is',
    async (what, sample, score) => {
      const trace = what.replaceAll(/\W/g, '-');
      expect(
        await corral.raw(
          '/rft/odd-input/grade',
          `{"sample":${sample},"item":{"answer":"42"},"trace_id":"${trace}"}`,
        ),
      ).toEqual({
        status: 200,
        body: { score },
        retryAfter: null,
      });
      await corral.native.open(`n-${trace}`);
      expect(await corral.raw(`/v1/rollouts/n-${trace}/grade`, `{"sample":${sample}}`)).toMatchObject({
        status: 200,
        body: { score },
      });
    },
    60_000,
  );
});

const rowOf = (text: string) =>
  `{"id":"f","call_id":"c","name":"shell","arguments":"{}","trace_id":"t","item":${text}}`;

test('what the caller got wrong stays its own', async () => {
  for (const row of ['{"n":1e999}', `{"a":${deep(5_000)}}`, '7']) {
    expect(await corral.raw('/rft/odd-input/tools', rowOf(row))).toMatchObject({
      status: 500,
      body: { error: { code: 'invalid_request', blame: 'caller' } },
    });
  }
  expect(
    await corral.raw('/rft/odd-input/tools', rowOf(`{"a":"${'x'.repeat(2 * mebibyte)}"}`)),
  ).toMatchObject({
    status: 500,
    body: { error: { code: 'payload_too_large', blame: 'caller' } },
  });
});

test('nothing of all this was discarded', async () => {
  const discards = await corral.native.get(`/v1/runs/${corral.run}/rollouts?verdict=discard`);
  expect(discards.body).toEqual({ rollouts: [], cursor: null });
});
