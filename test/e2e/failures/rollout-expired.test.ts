import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure } from '#test/support/faces.ts';
import { type FleetOfTest, startFleetOfTest } from '#test/support/fleet.ts';

const environment = `
name: shell
sandbox: { image: host, disk: 64Mi }
tools: { shell: { builtin: shell } }
limits: { idle: 5s }
grader: { kind: text, reference: item.answer }
pool: { min_ready: 2, max: 4 }
`;

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: environment } });
});
afterAll(() => corral.stop());

const expired = {
  code: 'rollout_expired',
  blame: 'caller',
  admitted: 'no',
  retryable: false,
  tainted: false,
} as const;

test('a rollout that nobody called within its idle time: its sandbox goes, then 410, on the RFT face 503', async () => {
  expect((await corral.rft.call({ trace: 'idle', call: 'c1', command: 'echo hi' })).status).toBe(200);
  const { sandbox } = await corral.sandboxOf('idle');
  const sandboxes = async () => (await corral.fleet.sandboxes()).map((one) => one.sandbox);
  await expect.poll(sandboxes).not.toContain(sandbox);
  const late = await corral.rft.call({ trace: 'idle', call: 'c2', command: 'echo hi' });
  expectFailure(late, { ...expired, status: 503, rollout_id: 'idle', call_id: 'c2' });
  const grade = await corral.rft.grade({ trace: 'idle', sample: { output_tools: [{ id: 'c1' }] } });
  expectFailure(grade, { ...expired, status: 503 });
  expectFailure(await corral.native.shell('idle', 'c3', 'echo hi'), { ...expired, status: 410 });
  expectFailure(await corral.native.post('/v1/rollouts/idle/grade', {}), { ...expired, status: 410 });
});
