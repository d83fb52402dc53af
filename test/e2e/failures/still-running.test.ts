import { expect, test } from 'vitest';
import { sharedFleet } from '#test/support/shared-fleet.ts';

const corral = sharedFleet();

test('a call whose request has no time left: 202 with still_running, and the repeat attaches to the same run', async () => {
  await corral.native.open('slow');
  // It has its sandbox, for which it may have to wait longer than the call below.
  await corral.native.shell('slow', 'first', ':');
  const command = 'echo ran >> log; while ! test -e go; do sleep 0.05; done; cat log';
  const call = { call_id: 'c1', name: 'shell', arguments: { command } };
  const early = await corral.native.post('/v1/rollouts/slow/calls?wait_s=2', call);
  expect(early).toMatchObject({ status: 202, body: { state: 'running' } });
  const repeat = corral.native.post('/v1/rollouts/slow/calls', call);
  await corral.native.shell('slow', 'go', 'touch go');
  expect(await repeat).toMatchObject({ status: 200, body: { output: 'ran\n' } });
});
