import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet('no-number');

const failed = {
  status: 503,
  code: 'grader_failed',
  blame: 'infrastructure',
  tainted: false,
} as const;

test('a grader that gives no number: 503 and no score, three times, then the rollout is a discard', async () => {
  expect((await corral.rft.call({ trace: 'rft', call: 'c1', command: 'echo hi' })).status).toBe(200);
  for (let turn = 0; turn < 3; turn += 1) {
    const grade = await corral.rft.grade({ trace: 'rft', sample: { output_tools: [{ id: 'c1' }] } });
    expectFailure(grade, { ...failed, admitted: expect.any(String), retryable: true, rollout_id: 'rft' });
  }
  const view = await corral.native.get('/v1/rollouts/rft');
  expect(view.body).toMatchObject({ score: null, verdict: { kind: 'discard', code: 'grader_failed' } });
  const fourth = await corral.rft.grade({ trace: 'rft', sample: { output_tools: [{ id: 'c1' }] } });
  expectFailure(fourth, { ...failed, admitted: 'no', retryable: false });
});

test('the same on the native face: 503', async () => {
  await corral.native.open('native');
  await corral.native.shell('native', 'c1', 'echo hi');
  const grade = await corral.native.post('/v1/rollouts/native/grade', {});
  expectFailure(grade, { ...failed, admitted: expect.any(String), retryable: true, rollout_id: 'native' });
});
