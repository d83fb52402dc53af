import { afterAll, beforeAll, expect, test } from 'vitest';
import { sandboxdOf } from '#loadtest/fleet/sandbox-of.ts';
import { type FleetOfTest, shellEnvironment, startFleetOfTest } from '#test/support/fleet.ts';

let corral: FleetOfTest;
beforeAll(async () => {
  corral = await startFleetOfTest({ environments: { shell: shellEnvironment } });
});
afterAll(() => corral.stop());

const daemonOf = async (rollout: string) => {
  const pid = await sandboxdOf(await corral.sandboxOf(rollout));
  if (pid === null) throw new Error(`the daemon of ${rollout} has ended`);
  return pid;
};

const inFlight = async (rollout: string) => {
  const { body } = await corral.native.get(`/v1/rollouts/${rollout}`);
  return (body as { readonly in_flight: number }).in_flight;
};

test('a sandbox that stands still is not lost: its call is held, its command runs once, the rollout is scored', async () => {
  const call = { trace: 'still', command: 'echo ran >> log; cat log' };
  expect(await corral.rft.call({ ...call, call: 'c1' })).toMatchObject({ body: { output: 'ran\n' } });
  const pid = await daemonOf('still');
  process.kill(pid, 'SIGSTOP');
  const held = corral.rft.call({ ...call, call: 'c2' });
  await expect.poll(() => inFlight('still')).toBe(1);
  process.kill(pid, 'SIGCONT');
  expect(await held).toMatchObject({ status: 200, body: { output: 'ran\nran\n' } });
  const { body } = await corral.native.get('/v1/rollouts/still');
  expect(body).toMatchObject({ taint: null, verdict: { kind: 'scorable' } });
  expect(await corral.rft.grade({ trace: 'still' })).toMatchObject({ status: 200, body: { score: 1 } });
});

test('the grader waits for a sandbox that stands still; it neither gives up nor guesses', async () => {
  expect(await corral.rft.call({ trace: 'graded', call: 'c1', command: 'true' })).toMatchObject({
    status: 200,
  });
  const pid = await daemonOf('graded');
  process.kill(pid, 'SIGSTOP');
  const grade = corral.rft.grade({ trace: 'graded' });
  // Long enough for an answer that did not wait; a score takes some ten milliseconds.
  const early = await Promise.race([grade, new Promise((resolve) => setTimeout(resolve, 500, 'waits'))]);
  process.kill(pid, 'SIGCONT');
  expect(early).toBe('waits');
  expect(await grade).toMatchObject({ status: 200, body: { score: 1 } });
});
