import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  podResources,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { apiCallsOf } from '#test/support/controller-metrics.ts';
import { expectFailure, toldNothingRan } from '#test/support/faces.ts';

const pool = '{ min_ready: 0, max: 6 }';
const environments = {
  shell: podEnvironment('shell', { pool }),
  impatient: podEnvironment('impatient', {
    sandbox: `image: "corral.local/bare:dev", ${podResources}, start_timeout: 6s`,
    pool,
  }),
};
const quota = JSON.stringify({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'two' },
  spec: { hard: { pods: '2' } },
});

let corral: ClusterFleetOfTest;
beforeAll(async () => {
  corral = await startClusterFleetOfTest({ name: 'quota', environments });
  await corral.kubectl(['create', '-f', '-'], quota);
  await corral.kubectl(['wait', 'resourcequota/two', '--for=jsonpath={.status.hard.pods}=2']);
});
afterAll(() => corral.stop());

const call = (trace: string) => corral.rft.call({ trace, call: 'c1', command: 'echo ran >> log' });
const grade = (trace: string) => corral.rft.grade({ trace });

async function servedAndScored(trace: string): Promise<void> {
  expect(await call(trace)).toMatchObject({ status: 200 });
  expect(await grade(trace)).toMatchObject({ status: 200, body: { score: 1 } });
}

test('four rollouts under a quota of two pods: two are held until the others end, and all are scored', async () => {
  await Promise.all(['a', 'b', 'c', 'd'].map(servedAndScored));
  const calls = await apiCallsOf(corral.fleet.controllerUrl);
  expect(calls).toContainEqual(expect.objectContaining({ verb: 'create', code: '403' }));
});

test('a quota that stays spent is told as unschedulable in its own words, and may be tried again', async () => {
  await Promise.all([call('e'), call('f')]);
  await corral.native.open('g', 'impatient');
  // Held for longer than a start may take.
  const command = { call_id: 'c1', name: 'shell', arguments: { command: 'echo' } };
  const refused = await corral.native.post('/v1/rollouts/g/calls?wait_s=12', command);
  expectFailure(refused, {
    ...toldNothingRan,
    code: 'unschedulable',
    message: expect.stringContaining('exceeded quota: two') as string,
    rollout_id: 'g',
    call_id: 'c1',
  });
  expect((await corral.native.get('/v1/rollouts/g')).body).toMatchObject({ taint: null, score: null });
});
