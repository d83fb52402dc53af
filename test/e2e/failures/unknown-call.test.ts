import { test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

test('a call id that the rollout never had: 404, to attach and to cancel', async () => {
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
  expectFailure(await corral.native.post('/v1/rollouts/r1/calls/never/cancel', {}), unknown);
});
