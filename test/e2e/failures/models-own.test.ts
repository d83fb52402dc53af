import { expect, test } from 'vitest';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet('brief-limits');

test('a command that takes too long: 200 with its partial output, and the sandbox stays usable', async () => {
  const slow = await corral.rft.call({ trace: 'slow', call: 'c1', command: 'echo begun; sleep 60' });
  expect(slow).toMatchObject({ status: 200, body: { output: 'begun\n[timed out after 1 s]' } });
  const next = await corral.rft.call({ trace: 'slow', call: 'c2', command: 'echo still here' });
  expect(next).toMatchObject({ status: 200, body: { output: 'still here\n' } });
});

test('the same on the native face: 200, timed_out', async () => {
  await corral.native.open('native_slow');
  expect(await corral.native.shell('native_slow', 'c1', 'echo begun; sleep 60')).toMatchObject({
    status: 200,
    body: { outcome: 'timed_out', code: 'command_timeout', timed_out: true, stdout: 'begun\n' },
  });
});

test('a call beyond the budget: 200 with a sentence for the model, nothing runs, and the grader still scores', async () => {
  const call = { trace: 'spent', command: 'echo x >> log; wc -l < log' };
  await corral.rft.call({ ...call, call: 'c1' });
  expect((await corral.rft.call({ ...call, call: 'c2' })).body).toMatchObject({ output: '2\n' });
  const third = await corral.rft.call({ ...call, call: 'c3' });
  expect(third).toMatchObject({
    status: 200,
    body: { output: 'Error: all 2 tool calls are used. Nothing ran. Give your answer now.' },
  });
  expect(await corral.rft.grade({ trace: 'spent' })).toMatchObject({ status: 200, body: { score: 1 } });
});

test('the same on the native face: 200, refused', async () => {
  await corral.native.open('native_spent');
  await corral.native.shell('native_spent', 'c1', 'true');
  await corral.native.shell('native_spent', 'c2', 'true');
  expect(await corral.native.shell('native_spent', 'c3', 'true')).toMatchObject({
    status: 200,
    body: { outcome: 'refused', code: 'budget_spent', exit_code: null },
  });
});

test('an exit code, a signal and a program that is not there: 200 with text', async () => {
  const odd = 'exit 3; ';
  expect(await corral.rft.call({ trace: 'odd', call: 'c1', command: odd })).toMatchObject({
    status: 200,
    body: { output: '[exit code 3]' },
  });
  expect(await corral.rft.call({ trace: 'odd', call: 'c2', command: 'kill -9 $$' })).toMatchObject({
    status: 200,
    body: { output: expect.stringContaining('SIGKILL') },
  });
});
