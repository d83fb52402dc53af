import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

test('a call id that the rollout never had: 404 to attach, and a cancel keeps its call from running', async () => {
  await corral.native.open('r1');
  const unknown = {
    status: 404,
    code: 'unknown_call',
    blame: 'caller',
    admitted: 'no',
    retryable: false,
    tainted: false,
    rollout_id: 'r1',
    call_id: 'never',
  } as const;
  expectFailure(await corral.native.get('/v1/rollouts/r1/calls/never'), unknown);
  const cancel = () => corral.native.post('/v1/rollouts/r1/calls/never/cancel', {});
  expect(await cancel()).toMatchObject({ status: 202, body: { began: false } });
  const late = await corral.native.post('/v1/rollouts/r1/exec', {
    call_id: 'never',
    command: 'echo ran > it',
  });
  expect(late).toMatchObject({
    status: 200,
    body: { outcome: 'cancelled', exit_code: null, output: '[cancelled]' },
  });
  expect(await cancel()).toMatchObject({ status: 202, body: { began: false } });
  const looked = await corral.native.post('/v1/rollouts/r1/exec', { call_id: 'look', command: 'cat it' });
  expect(looked).toMatchObject({ status: 200, body: { exit_code: 1 } });
});
