import { expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

const expired = {
  code: 'answer_expired',
  blame: 'caller',
  admitted: 'yes',
  retryable: false,
  tainted: false,
} as const;

const call = (id: string) => ({ trace: 'over', call: id, command: `echo ${id} >> log; cat log` });

test('a repeat that comes after its rollout’s end: 410, 503 on the RFT face, and the command does not run again', async () => {
  const ids = Array.from({ length: 20 }, (_, index) => `c${index}`);
  for (const id of ids) expect((await corral.rft.call(call(id))).status).toBe(200);
  expect(await corral.rft.call(call('c0'))).toMatchObject({ status: 200, body: { output: 'c0\n' } });
  const log = ids.map((id) => `${id}\n`).join('');
  expect(await corral.rft.call(call('c19'))).toMatchObject({ status: 200, body: { output: log } });
  await corral.rft.grade({ trace: 'over', sample: { output_text: '42', output_tools: [{ id: 'c0' }] } });
  expectFailure(await corral.rft.call(call('c0')), { ...expired, status: 503, rollout_id: 'over' });
  const native = await corral.native.post('/v1/rollouts/over/calls', {
    call_id: 'c0',
    name: 'shell',
    arguments: { command: call('c0').command },
  });
  expectFailure(native, { ...expired, status: 410, call_id: 'c0' });
});
