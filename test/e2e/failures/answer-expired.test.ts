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

/** As many answers as fleet state keeps of a rollout. */
const kept = 16;

const call = (id: string) => ({ trace: 'long', call: id, command: `echo ${id} >> log; cat log` });

test('a repeat that comes after so many other calls: 410, 503 on the RFT face, and the command does not run again', async () => {
  const ids = Array.from({ length: kept + 1 }, (_, index) => `c${index}`);
  for (const id of ids) expect((await corral.rft.call(call(id))).status).toBe(200);
  expectFailure(await corral.rft.call(call('c0')), { ...expired, status: 503, rollout_id: 'long' });
  const native = await corral.native.post('/v1/rollouts/long/calls', {
    call_id: 'c0',
    name: 'shell',
    arguments: { command: call('c0').command },
  });
  expectFailure(native, { ...expired, status: 410, call_id: 'c0' });
  const log = ids.map((id) => `${id}\n`).join('');
  expect(await corral.rft.call(call('c16'))).toMatchObject({ status: 200, body: { output: log } });
});
