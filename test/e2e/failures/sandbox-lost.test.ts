import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectFailure, toldLost } from '#test/support/faces.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '#test/support/fleet.ts';

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
});
afterAll(() => corral.stop());

const tainted = { ...toldLost, admitted: 'no', evidence: { cause: expect.any(String) } } as const;

const taintOf = async (rollout: string) => {
  const { body } = await corral.native.get(`/v1/rollouts/${rollout}`);
  return (body as { taint: { code: string } | null }).taint?.code;
};

test('killed after its first call: later calls and the grade answer 503, and the run lists it as a discard', async () => {
  const call = { trace: 'after', command: 'echo hi' };
  expect((await corral.rft.call({ ...call, call: 'c1' })).status).toBe(200);
  await corral.killSandboxOf('after');
  await expect.poll(() => taintOf('after')).toBe('sandbox_lost');
  const later = await corral.rft.call({ ...call, call: 'c2' });
  expectFailure(later, { ...tainted, rollout_id: 'after', call_id: 'c2' });
  const grade = await corral.rft.grade({ trace: 'after', sample: { output_tools: [{ id: 'c1' }] } });
  expectFailure(grade, { ...tainted, rollout_id: 'after' });
  const discards = await corral.native.get('/v1/runs/development/rollouts?verdict=discard');
  expect(discards.body).toMatchObject({ rollouts: [{ rollout_id: 'after', score: null }] });
});

test('killed after its first call, on the native face: the same, and the view says why', async () => {
  await corral.native.open('native');
  expect(await corral.native.shell('native', 'c1', 'echo hi')).toMatchObject({ status: 200 });
  await corral.killSandboxOf('native');
  await expect.poll(() => taintOf('native')).toBe('sandbox_lost');
  expectFailure(await corral.native.shell('native', 'c2', 'echo hi'), tainted);
  expectFailure(await corral.native.post('/v1/rollouts/native/grade', {}), tainted);
  const view = await corral.native.get('/v1/rollouts/native');
  expect(view.body).toMatchObject({
    verdict: { kind: 'discard', code: 'sandbox_lost', cause: 'sandboxd_killed' },
    taint: { code: 'sandbox_lost', cause: 'sandboxd_killed', evidence: { signal: 'SIGKILL' } },
    score: null,
  });
});

test('killed while a command runs: the call answers 503 at once and may have run, and so does its repeat', async () => {
  const call = { trace: 'during', call: 'c1', command: 'sleep 60' };
  const answer = corral.rft.call(call);
  await expect
    .poll(async () => (await corral.native.get('/v1/rollouts/during')).body)
    .toMatchObject({
      in_flight: 1,
    });
  await corral.killSandboxOf('during');
  expectFailure(await answer, { ...toldLost, admitted: 'unknown', rollout_id: 'during', call_id: 'c1' });
  expectFailure(await corral.rft.call(call), { ...toldLost, admitted: 'unknown' });
});

test('killed before its first call: another sandbox takes its place and nobody notices', async () => {
  await corral.native.open('before');
  await expect
    .poll(async () => (await corral.native.get('/v1/rollouts/before')).body)
    .toMatchObject({
      epoch: { sandbox: expect.any(String) },
    });
  const { sandbox } = await corral.sandboxOf('before');
  await corral.killSandboxOf('before');
  // A call that is let in before the loss is known counts as one that may have run.
  await expect
    .poll(async () => (await corral.native.get('/v1/rollouts/before')).body)
    .not.toMatchObject({ epoch: { sandbox } });
  const answer = await corral.native.shell('before', 'c1', 'echo hi');
  expect(answer).toMatchObject({ status: 200, body: { output: 'hi\n', outcome: 'completed' } });
  expect(answer.body).not.toMatchObject({ epoch: { sandbox } });
  const grade = await corral.native.post('/v1/rollouts/before/grade', { sample: { output_text: '42' } });
  expect(grade).toMatchObject({ status: 200, body: { score: 1 } });
});
