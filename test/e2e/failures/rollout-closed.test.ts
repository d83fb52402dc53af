import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

const closed = {
  code: 'rollout_closed',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

test('a call after the score: 503 on the RFT face, and the score stays what it was', async () => {
  const call = { trace: 'scored', command: 'echo hi' };
  expect((await corral.rft.call({ ...call, call: 'c1' })).status).toBe(200);
  const grade = { trace: 'scored', sample: { output_text: '42', output_tools: [{ id: 'c1' }] } };
  expect((await corral.rft.grade(grade)).body).toEqual({ score: 1 });
  const late = await corral.rft.call({ ...call, call: 'c2' });
  expectFailure(late, { ...closed, status: 503, rollout_id: 'scored', call_id: 'c2' });
  const again = await corral.rft.grade({ ...grade, sample: { output_text: 'no' } });
  expect(again).toMatchObject({ status: 200, body: { score: 1 } });
});

test('a call after finish: 409 on the native face, also for the grade', async () => {
  await corral.native.open('finished');
  expect((await corral.native.shell('finished', 'c1', 'echo hi')).status).toBe(200);
  await corral.native.post('/v1/rollouts/finished/finish', {});
  expectFailure(await corral.native.shell('finished', 'c2', 'echo hi'), { ...closed, status: 409 });
  expectFailure(await corral.native.post('/v1/rollouts/finished/grade', {}), { ...closed, status: 409 });
});

test('a lower attempt after a higher one was opened: 409', async () => {
  const opening = { rollout_id: 'again', environment: 'shell' };
  await corral.native.post('/v1/rollouts', opening);
  await corral.native.post('/v1/rollouts', { ...opening, attempt: 2 });
  const call = { call_id: 'c1', name: 'shell', arguments: { command: 'echo hi' } };
  const lower = await corral.native.post('/v1/rollouts/again/calls?attempt=1', call);
  expectFailure(lower, { ...closed, status: 409 });
  expect((await corral.native.post('/v1/rollouts/again/calls', call)).status).toBe(200);
});
