import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

const mismatch = {
  code: 'item_mismatch',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;
const other = { id: 'task-2', answer: '43' };

test('a reused rollout id with another row: 409, on the RFT face 500, before and after its score', async () => {
  const call = { trace: 'trace_row', command: 'echo hi' };
  expect((await corral.rft.call({ ...call, call: 'c1' })).status).toBe(200);
  const wrong = await corral.rft.call({ ...call, call: 'c2', item: other });
  expectFailure(wrong, { ...mismatch, status: 500, rollout_id: 'trace_row', call_id: 'c2' });
  const grade = { trace: 'trace_row', sample: { output_text: '43' }, item: other };
  expectFailure(await corral.rft.grade(grade), { ...mismatch, status: 500 });
  expectFailure(await corral.native.open('trace_row', undefined, other), { ...mismatch, status: 409 });
  expect((await corral.rft.call({ ...call, call: 'c2' })).status).toBe(200);
  expect((await corral.rft.grade({ trace: 'trace_row' })).body).toEqual({ score: 1 });
  expectFailure(await corral.rft.grade(grade), { ...mismatch, status: 500 });
  expectFailure(await corral.rft.call({ ...call, call: 'c3', item: other }), { ...mismatch, status: 500 });
});

test('a row with the same answer and another id is refused, also if the first row came with a later call', async () => {
  const twin = { id: 'task-3', answer: '42' };
  const call = { trace: 'trace_late', command: 'echo hi' };
  expect((await corral.rft.call({ ...call, call: 'c1', item: null })).status).toBe(200);
  expect((await corral.rft.call({ ...call, call: 'c2' })).status).toBe(200);
  expectFailure(await corral.rft.call({ ...call, call: 'c3', item: twin }), { ...mismatch, status: 500 });
  expectFailure(await corral.rft.grade({ trace: 'trace_late', item: twin }), { ...mismatch, status: 500 });
});
