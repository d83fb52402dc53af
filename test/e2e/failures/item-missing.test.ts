import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet('exposed-repo');

const missing = {
  code: 'item_missing',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

test('a row without the field that the sandbox is to see: 400, on the RFT face 500', async () => {
  const item = { id: 'task-1', answer: '42' };
  const message = expect.stringContaining('repo');
  const call = await corral.rft.call({ trace: 'rft', call: 'c1', command: 'cat repo', item });
  expectFailure(call, { ...missing, status: 500, message });
  expectFailure(await corral.native.open('native', 'exposed-repo', item), {
    ...missing,
    status: 400,
    message,
  });
});

test('a row without the reference of the grader: 400, on the RFT face 500, and no score', async () => {
  const item = { id: 'task-1', repo: 'fastify' };
  const call = { trace: 'rft_graded', call: 'c1', command: 'cat repo', item };
  expect(await corral.rft.call(call)).toMatchObject({ status: 200, body: { output: 'fastify\n' } });
  const message = expect.stringContaining('answer');
  const grade = await corral.rft.grade({ trace: 'rft_graded', item });
  expectFailure(grade, { ...missing, status: 500, message });
  await corral.native.open('native_graded', 'exposed-repo', item);
  const native = await corral.native.post('/v1/rollouts/native_graded/grade', { sample: {} });
  expectFailure(native, { ...missing, status: 400, message });
});
