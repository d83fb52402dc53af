import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

const mismatch = {
  code: 'environment_mismatch',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

test('a rollout that is named with another environment: 409, on the RFT face 500, and it goes on in its own', async () => {
  const call = { trace: 'trace_1', command: 'echo hi' };
  expect((await corral.rft.call({ ...call, call: 'c1' })).status).toBe(200);
  const wrong = await corral.rft.call({ ...call, call: 'c2', environment: 'other' });
  expectFailure(wrong, { ...mismatch, status: 500, rollout_id: 'trace_1', call_id: 'c2' });
  const grade = await corral.rft.grade({ trace: 'trace_1', environment: 'other' });
  expectFailure(grade, { ...mismatch, status: 500 });
  expectFailure(await corral.native.open('trace_1', 'other'), { ...mismatch, status: 409 });
  expect((await corral.rft.call({ ...call, call: 'c3' })).status).toBe(200);
});
