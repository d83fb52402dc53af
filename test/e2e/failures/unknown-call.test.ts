import { afterAll, beforeAll, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '#test/support/fleet.ts';

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
});
afterAll(() => corral.stop());

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
