import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure } from '../../support/faces.ts';
import { startFleetOfTest } from '../../support/fleet.ts';
import type { FleetOfTest } from '../../support/fleet.ts';

const environment = `
name: shell
sandbox: { image: host, disk: 64Mi }
tools:
  shell: { builtin: shell }
  search: { command: [sh, -c, 'echo index down >&2; exit 75'], infrastructure_exit: 75, parameters: {} }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 2, max: 4 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
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

test('a tool whose own backend failed by its word: 503, and the rollout is never scored', async () => {
  const call = await corral.rft.call({ trace: 'rft', call: 'c1', tool: 'search', arguments: {} });
  expectFailure(call, { ...failed, admitted: 'yes', rollout_id: 'rft', call_id: 'c1', evidence });
  const later = await corral.rft.call({ trace: 'rft', call: 'c2', command: 'echo hi' });
  expectFailure(later, { ...failed, admitted: 'no' });
  expectFailure(await corral.rft.grade({ trace: 'rft' }), { ...failed, admitted: 'no' });
});

test('the same on the native face: 503, and the view says discard', async () => {
  await corral.native.open('native');
  const call = { call_id: 'c1', name: 'search', arguments: {} };
  const answer = await corral.native.post('/v1/rollouts/native/calls', call);
  expectFailure(answer, { ...failed, admitted: 'yes', evidence });
  const view = await corral.native.get('/v1/rollouts/native');
  expect(view.body).toMatchObject({ verdict: { kind: 'discard', code: 'dependency_failed' } });
});

test('the same exit code from a program that the model chose is the model’s: 200', async () => {
  const answer = await corral.rft.call({ trace: 'own', call: 'c1', command: 'exit 75' });
  expect(answer).toMatchObject({ status: 200, body: { output: '[exit code 75]' } });
});
