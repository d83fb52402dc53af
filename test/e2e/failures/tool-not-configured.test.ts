import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

test('a tool that the job names and the environment has not: 500 on the RFT face', async () => {
  const call = { trace: 'trace_1', call: 'c1', command: 'echo hi', tool: 'browser' };
  expectFailure(await corral.rft.call(call), {
    status: 500,
    code: 'tool_not_configured',
    blame: 'caller',
    admitted: 'no',
    retryable: false,
    tainted: false,
    message: expect.stringContaining('it has: shell'),
  });
});

test('a tool that the model made up, where the model chooses it: 200 with text on the native face', async () => {
  await corral.native.open('r1');
  const call = { call_id: 'c1', name: 'browser', arguments: {} };
  expect(await corral.native.post('/v1/rollouts/r1/calls', call)).toMatchObject({
    status: 200,
    body: { outcome: 'refused', code: 'unknown_tool', output: expect.stringContaining('shell') },
  });
});
