import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

const conflict = {
  code: 'call_conflict',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

test('one call id with two different arguments: 500 on the RFT face, and only the first ran', async () => {
  const call = { trace: 'trace_1', call: 'c1', command: 'echo ran >> log; wc -l < log' };
  expect(await corral.rft.call(call)).toMatchObject({ status: 200, body: { output: '1\n' } });
  const other = await corral.rft.call({ ...call, command: 'echo other >> log' });
  expectFailure(other, { ...conflict, status: 500, rollout_id: 'trace_1', call_id: 'c1' });
  expect((await corral.rft.call(call)).body).toMatchObject({ output: '1\n' });
  expect((await corral.rft.call({ ...call, call: 'c2' })).body).toMatchObject({ output: '2\n' });
});

test('the same on the native face: 409, and the repeat is marked', async () => {
  await corral.native.open('r1');
  expect((await corral.native.shell('r1', 'c1', 'echo a')).body).toMatchObject({ replayed: false });
  expectFailure(await corral.native.shell('r1', 'c1', 'echo b'), { ...conflict, status: 409 });
  expect((await corral.native.shell('r1', 'c1', 'echo a')).body).toMatchObject({
    output: 'a\n',
    replayed: true,
  });
});
