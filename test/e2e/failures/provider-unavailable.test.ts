import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';
import { partPid } from '#test/support/parts-of-fleet.ts';

const environment = `
name: shell
sandbox: { image: host, disk: 64Mi, start_timeout: 2s }
tools: { shell: { builtin: shell, timeout: 30s } }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 0, max: 2 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
});
afterAll(() => corral.stop());

test('an engine that answers nobody: 503 with its code, and the rollout gets its sandbox once it is back', async () => {
  const node = partPid(corral.fleet.stateDir, 'node');
  process.kill(node, 'SIGSTOP');
  await corral.native.open('first');
  const call = { call_id: 'c1', name: 'shell', arguments: { command: 'echo hi' } };
  const callInVain = () => corral.native.post('/v1/rollouts/first/calls?wait_s=1', call);
  const unavailable = { body: { error: { code: 'provider_unavailable' } } };
  await expect.poll(callInVain, { timeout: 60_000 }).toMatchObject(unavailable);
  const inVain = await callInVain();
  process.kill(node, 'SIGCONT');
  expectFailure(inVain, { ...toldNothingRan, code: 'provider_unavailable', rollout_id: 'first' });
  const again = await corral.native.post('/v1/rollouts/first/calls', call);
  expect(again).toMatchObject({ status: 200, body: { output: 'hi\n' } });
});
