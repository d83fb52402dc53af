import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FailureCode } from '#src/failure/codes.ts';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  podResources,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { metricsOf } from '#test/support/controller-metrics.ts';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';

/** The RFT face holds a call for what its command's time leaves of 540 s: here 50 s, since no command may have over 480 s. */
const failing = (name: string, image: string, rest: string) =>
  podEnvironment(name, {
    sandbox: `image: "${image}", ${podResources}, ${rest}`,
    timeout: '500s',
    pool: '{ min_ready: 0, max: 4 }',
  });

const bare = 'corral.local/bare:dev';
const environments = {
  shell: podEnvironment('shell', { pool: '{ min_ready: 0, max: 4 }' }),
  missing: failing('missing', 'corral.local/never:1', 'start_timeout: 20s'),
  misnamed: failing('misnamed', 'NO SUCH NAME', 'start_timeout: 20s'),
  nowhere: failing('nowhere', bare, 'start_timeout: 10s, node_selector: { pool: nowhere }'),
  greedy: failing('greedy', bare, 'start_timeout: 11s').replace(
    'request: 10m, limit: "1"',
    'request: "900", limit: "900"',
  ),
  slow: failing('slow', bare, 'start_timeout: 6s, prepare: [[sleep, "60"]]'),
};

let corral: ClusterFleetOfTest;
beforeAll(async () => {
  corral = await startClusterFleetOfTest({ name: 'starts', environments });
});
afterAll(() => corral.stop());

/** What did not start and why, in the cluster's own words. */
const cases: readonly (readonly [string, keyof typeof environments, FailureCode, string])[] = [
  ['no registry has its image', 'missing', 'image_unavailable', 'corral.local/never:1'],
  ['its image has no possible name', 'misnamed', 'image_unavailable', 'InvalidImageName'],
  ['no node is what it asks for', 'nowhere', 'unschedulable', "didn't match Pod's node affinity/selector"],
  ['no node has what it asks for', 'greedy', 'unschedulable', 'Insufficient cpu'],
  ['it is not ready in time', 'slow', 'start_timeout', '6000 ms'],
];

test.concurrent.each(cases)(
  'a sandbox that does not start because %s: 503 on both faces in the cluster’s words, and may be tried again',
  async (_why, environment, code, words) => {
    const held = corral.rft.call({ trace: `rft-${environment}`, call: 'c1', command: 'echo', environment });
    await corral.native.open(environment, environment);
    const call = { call_id: 'c1', name: 'shell', arguments: { command: 'echo' } };
    const native = await corral.native.post(`/v1/rollouts/${environment}/calls?wait_s=50`, call);
    const told = { ...toldNothingRan, code, message: expect.stringContaining(words) as string };
    expectFailure(native, { ...told, rollout_id: environment, call_id: 'c1' });
    expectFailure(await held, { ...told, rollout_id: `rft-${environment}`, call_id: 'c1' });
    expect((await corral.native.get(`/v1/rollouts/rft-${environment}`)).body).toMatchObject({
      taint: null,
      score: null,
    });
  },
);

test.concurrent('beside environments that cannot start, another one is served and scored', async () => {
  const call = { trace: 'beside', call: 'c1', command: 'echo ran >> log; cat log' };
  expect(await corral.rft.call(call)).toMatchObject({ status: 200, body: { output: 'ran\n' } });
  expect(await corral.rft.grade({ trace: 'beside' })).toMatchObject({ status: 200, body: { score: 1 } });
});

// Until its breaker opens a template is tried ten times in a row, and one more may be on its way; then every 30 s, at most five
// times in the two minutes that this takes on a busy machine. Without it the image that fails at once would be tried a hundred
// times. What no node has room for does not count for a breaker: its start lasts until its timeout.
const startsOfABreaker = 16;

test('what cannot start is not tried without end, and what was tried is removed', async () => {
  await expect.poll(() => corral.pods()).toEqual([]);
  const metrics = await metricsOf(corral.fleet.controllerUrl);
  const failedWith = (code: FailureCode) =>
    Number(metrics.match(`corral_launches_total\\{type="failed",result="${code}"\\} (\\d+)`)?.[1]);
  expect(metrics).toMatch(/^corral_fleet_breaker_open\{.*\} 1$/m);
  expect(failedWith('image_unavailable')).toBeLessThanOrEqual(2 * startsOfABreaker);
  expect(failedWith('start_timeout')).toBeLessThanOrEqual(startsOfABreaker);
});
