import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

const environment = (name: string, tools: string) => `
name: ${name}
sandbox: { image: host, disk: 64Mi }
tools:
${tools}
grader: { kind: text, reference: item.answer }
pool: { min_ready: 2, max: 6 }
`;

const search = "[sh, -c, 'echo index down >&2; exit 75']";
const environments = {
  search: environment(
    'search',
    `  search: { command: ${search}, infrastructure_exit: 75, parameters: {} }\n  say: { command: [echo, "{text}"] }`,
  ),
  shell: environment(
    'shell',
    `  shell: { builtin: shell }\n  search: { command: ${search}, parameters: {} }`,
  ),
};

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments });
});
afterAll(() => corral.stop());

const failed = {
  status: 503,
  code: 'dependency_failed',
  blame: 'infrastructure',
  retryable: false,
  tainted: true,
} as const;
const evidence = { tool: 'search', exit_code: 75, said: 'index down\n' };

const inSearch = { environment: 'search' };

test('a tool whose own backend failed by its word: 503, and the rollout is never scored', async () => {
  const call = await corral.rft.call({
    trace: 'rft',
    call: 'c1',
    tool: 'search',
    arguments: {},
    ...inSearch,
  });
  expectFailure(call, { ...failed, admitted: 'yes', rollout_id: 'rft', call_id: 'c1', evidence });
  const say = { tool: 'say', arguments: { text: 'hi' }, ...inSearch };
  expectFailure(await corral.rft.call({ trace: 'rft', call: 'c2', ...say }), { ...failed, admitted: 'no' });
  expectFailure(await corral.rft.grade({ trace: 'rft', ...inSearch }), { ...failed, admitted: 'no' });
});

const searchCall = { call_id: 'c1', name: 'search', arguments: {} };

test('the same on the native face: 503, and the view says discard', async () => {
  await corral.native.open('native', 'search');
  const answer = await corral.native.post('/v1/rollouts/native/calls', searchCall);
  expectFailure(answer, { ...failed, admitted: 'yes', evidence });
  const view = await corral.native.get('/v1/rollouts/native');
  expect(view.body).toMatchObject({ verdict: { kind: 'discard', code: 'dependency_failed' } });
});

test('the same exit code from a program that the model chose is the model’s: 200', async () => {
  const answer = await corral.rft.call({ trace: 'own', call: 'c1', command: 'exit 75' });
  expect(answer).toMatchObject({ status: 200, body: { output: '[exit code 75]' } });
});
