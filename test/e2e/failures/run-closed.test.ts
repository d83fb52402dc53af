import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

const closed = {
  code: 'run_closed',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

test('a run that was stopped: its rollouts are released, and nothing new begins in it', async () => {
  const inRun = { 'x-corral-run': 'night' };
  const call = { trace: 'running', call: 'c1', command: 'echo hi' };
  expect((await corral.rft.call(call, inRun)).status).toBe(200);
  expect(await corral.native.delete('/v1/runs/night')).toMatchObject({ status: 200, body: { left: 0 } });

  const later = await corral.rft.call({ ...call, call: 'c2' }, inRun);
  expectFailure(later, { ...closed, status: 503, rollout_id: 'running' });
  expectFailure(await corral.rft.call({ ...call, trace: 'new' }, inRun), { ...closed, status: 503 });
  const opening = { rollout_id: 'native', environment: 'shell' };
  expectFailure(await corral.native.post('/v1/rollouts', opening, inRun), { ...closed, status: 409 });
  const heartbeat = await corral.native.post('/v1/runs/night/heartbeat', {});
  expectFailure(heartbeat, { ...closed, status: 409 });
});
