import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { metricsOf } from '#test/support/controller-metrics.ts';
import { ran, rolloutsOf } from '#test/support/pod-rollouts.ts';

const minReady = 2;
const environments = { shell: podEnvironment('shell', { pool: `{ min_ready: ${minReady}, max: 8 }` }) };

let corral: ClusterFleetOfTest;
beforeAll(async () => {
  // Nothing is kept on disk: a Redis that was killed comes back empty.
  corral = await startClusterFleetOfTest({ name: 'emptied', environments, keepRecords: false });
});
afterAll(() => corral.stop());

const shell = rolloutsOf(() => corral, 'shell');

async function pool(): Promise<{ readonly held: number; readonly ready: number }> {
  const metrics = await metricsOf(corral.fleet.controllerUrl);
  const counted = (state: string) =>
    Number(new RegExp(`^corral_fleet_pool\\{.*state="${state}"\\} (\\d+)$`, 'm').exec(metrics)?.[1]);
  return { held: counted('held'), ready: counted('ready') };
}

test('Redis comes back empty while a command runs: pods say whose they are, nothing runs twice, and all is scored', async () => {
  expect(await shell.call('idle', 'c1')).toMatchObject(ran(1));
  const busy = await shell.running('busy', 'echo ran >> log; sleep 3; cat log');
  const idlePod = await corral.podOf('idle');
  // One that is still being started serves nobody yet, and is not taken over.
  await expect.poll(pool).toEqual({ held: 2, ready: minReady });
  const pods = (await corral.pods()).toSorted();

  await corral.killPart('redis');

  expect(await busy.answer).toMatchObject(ran(1));
  expect(await shell.call('idle', 'c2')).toMatchObject(ran(2));
  expect(await shell.call('busy', 'c2')).toMatchObject(ran(2));
  expect(await corral.podOf('busy')).toMatchObject({ sandbox: busy.sandbox });
  expect(await corral.podOf('idle')).toEqual(idlePod);
  expect((await corral.pods()).toSorted()).toEqual(pods);
  await shell.expectScored('busy', 2);
  await shell.expectScored('idle', 2);
});
