import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

const unauthorized = {
  code: 'unauthorized',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

test.each([
  ['a wrong key', { authorization: 'Bearer wrong' }],
  ['an empty key', { authorization: 'Bearer ' }],
  ['another scheme', { authorization: 'Basic Y29ycmFsOmNvcnJhbA==' }],
])('%s: 401, but 503 on the RFT face, where the model must not read it', async (_name, headers) => {
  const call = { trace: 'trace_1', call: 'c1', command: 'echo hi' };
  expectFailure(await corral.rft.call(call, headers), { ...unauthorized, status: 503 });
  expectFailure(await corral.rft.grade({ trace: 'trace_1' }, headers), { ...unauthorized, status: 503 });
  expectFailure(await corral.native.get('/v1/runs', headers), { ...unauthorized, status: 401 });
  const opening = corral.native.post('/v1/rollouts', { rollout_id: 'r', environment: 'shell' }, headers);
  expectFailure(await opening, { ...unauthorized, status: 401 });
});

test.each(['trace_1', 'r'])('the refused requests opened no rollout %s', async (rollout) => {
  const answer = await corral.native.get(`/v1/rollouts/${rollout}`);
  expect(answer).toMatchObject({ body: { error: { code: 'rollout_unknown' } } });
});
