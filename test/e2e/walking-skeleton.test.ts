import { expect, test } from 'vitest';
import { sharedFleet } from '../support/shared-fleet.ts';

const corral = sharedFleet();

test('a tool call is answered in the RFT shape, and nothing else is in the answer', async () => {
  const answer = await corral.rft.call({
    trace: 'trace_1',
    call: 'call_1',
    command: 'echo hi > kept; cat kept',
  });
  expect(answer).toEqual({
    status: 200,
    body: { type: 'function_call_output', call_id: 'call_1', id: 'fc_call_1', output: 'hi\n' },
    retryAfter: null,
  });
});

test('the next call of the rollout finds what the first left, another rollout does not', async () => {
  const look = { call: 'call_2', command: 'cat kept' };
  expect((await corral.rft.call({ ...look, trace: 'trace_1' })).body).toMatchObject({ output: 'hi\n' });
  const other = await corral.rft.call({ ...look, trace: 'trace_2' });
  expect(other).toMatchObject({ status: 200, body: { output: expect.stringContaining('No such file') } });
});

test('the grade is a score and nothing else, and the rollout is closed by it', async () => {
  const grade = { trace: 'trace_1', sample: { output_text: 'The 42.', output_tools: [{ id: 'call_1' }] } };
  expect(await corral.rft.grade(grade)).toEqual({ status: 200, body: { score: 1 }, retryAfter: null });
  const view = await corral.native.get('/v1/rollouts/trace_1');
  expect(view.body).toMatchObject({ state: 'closed', score: 1, verdict: { kind: 'scorable' } });
});

test('a rollout that made no call is graded all the same', async () => {
  const grade = { trace: 'trace_3', sample: { output_text: '41', output_tools: [] } };
  expect(await corral.rft.grade(grade)).toMatchObject({ status: 200, body: { score: 0 } });
});
