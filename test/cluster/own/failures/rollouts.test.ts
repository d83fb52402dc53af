import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { apiCallsOf, writesIn } from '#test/support/controller-metrics.ts';

/** What a fleet on a real cluster is for, before the other files here break it. */
let corral: ClusterFleetOfTest;
beforeAll(async () => {
  const shell = podEnvironment('shell', { pool: '{ min_ready: 0, max: 16 }' });
  corral = await startClusterFleetOfTest({ name: 'rollouts', environments: { shell } });
});
afterAll(() => corral.stop());

const rollouts = Array.from({ length: 8 }, (_, index) => `rollout-${index + 1}`);
const call = (trace: string, call: string) =>
  corral.rft.call({ trace, call, command: `echo ${call} >> log; cat log` });

async function play(trace: string) {
  const answers = [await call(trace, 'c1'), await call(trace, 'c2')];
  return { answers, held: await corral.podOf(trace), grade: await corral.rft.grade({ trace }) };
}

test('eight rollouts at once, cold: each has a pod of its own, calls, score and end; at most three API writes each', async () => {
  const played = await Promise.all(rollouts.map(play));
  for (const { answers, grade } of played) {
    expect(answers).toMatchObject([
      { status: 200, body: { output: 'c1\n' } },
      { status: 200, body: { output: 'c1\nc2\n' } },
    ]);
    expect(grade).toMatchObject({ status: 200, body: { score: 2 } });
  }
  expect(new Set(played.map(({ held }) => held.sandbox)).size).toBe(8);
  expect(new Set(played.map(({ held }) => held.node)).size).toBe(2);
  await expect.poll(() => corral.pods()).toEqual([]);
  const calls = await apiCallsOf(corral.fleet.controllerUrl);
  expect(writesIn(calls)).toBeLessThanOrEqual(8 * 3);
});
