import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { impatient } from '#test/support/timings.ts';

/** One sandbox in all. The RFT face holds a call for what its command's time leaves of 54 s: here 5 s. */
const one = `
name: shell
sandbox: { image: host, disk: 64Mi }
tools: { shell: { builtin: shell, timeout: 8m } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 1, max: 1 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: one }, timings: impatient });
});
afterAll(() => corral.stop());

const timeout = {
  ...toldNothingRan,
  code: 'capacity_timeout',
} as const;

const waiting = { trace: 'rft', call: 'c1', command: 'echo hi' };

test('no sandbox in time: 503 on both faces, may be sent again, and is served once there is one', async () => {
  expect((await corral.rft.call({ trace: 'holder', call: 'c1', command: 'echo hi' })).status).toBe(200);
  const held = corral.rft.call(waiting);
  await corral.native.open('native');
  const call = { call_id: 'c1', name: 'shell', arguments: { command: 'echo hi' } };
  const inVain = await corral.native.post('/v1/rollouts/native/calls?wait_s=1', call);
  expectFailure(inVain, { ...timeout, rollout_id: 'native', call_id: 'c1' });
  expectFailure(await held, { ...timeout, rollout_id: 'rft', call_id: 'c1' });

  // The one that has waited longest is next in line, as long as its gateway was heard of within ten seconds.
  await corral.native.post('/v1/rollouts/holder/finish', {});
  expect(await corral.rft.call(waiting)).toMatchObject({ status: 200, body: { output: 'hi\n' } });
  await corral.native.post('/v1/rollouts/rft/finish', {});
  const again = await corral.native.post('/v1/rollouts/native/calls', call);
  expect(again).toMatchObject({ status: 200, body: { output: 'hi\n', replayed: false } });
});
