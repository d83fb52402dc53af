import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet('ungraded');

const conflict = {
  code: 'score_conflict',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

const finish = (rollout: string, score: number) =>
  corral.native.post(`/v1/rollouts/${rollout}/finish`, { score });

test('another score for a rollout that has one: 409, and the first stands', async () => {
  await corral.native.open('twice', 'ungraded');
  const command = { call_id: 'c1', argv: ['true'] };
  expect((await corral.native.post('/v1/rollouts/twice/exec', command)).status).toBe(200);
  expect(await finish('twice', 0.5)).toMatchObject({ status: 200, body: { score: 0.5 } });
  expectFailure(await finish('twice', 0), { ...conflict, status: 409 });
  expect(await finish('twice', 0.5)).toMatchObject({ status: 200, body: { score: 0.5 } });
});
