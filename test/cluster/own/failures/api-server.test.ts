import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forgetHistory, startApiServer, stopApiServer } from '#infra/cluster/levers.ts';
import {
  type ClusterFleetOfTest,
  podEnvironment,
  startClusterFleetOfTest,
} from '#test/support/cluster-fleet.ts';
import { untilClusterWorks } from '#test/support/cluster-works.ts';
import { killSandboxd } from '#test/support/cluster-provider.ts';
import { apiCallsOf } from '#test/support/controller-metrics.ts';
import { ran, rolloutsOf } from '#test/support/pod-rollouts.ts';

let corral: ClusterFleetOfTest;
beforeAll(async () => {
  const shell = podEnvironment('shell', { pool: '{ min_ready: 2, max: 24 }' });
  corral = await startClusterFleetOfTest({ name: 'api', environments: { shell } });
});
afterAll(async () => {
  await corral.stop();
  await untilClusterWorks(corral.cluster);
}, 240_000);

const { call, view, running, expectScored, expectLostInFlight } = rolloutsOf(() => corral, 'shell');
const named = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

/** A rollout with a call every few seconds for as long as the API server is away, graded before it is back. */
const callEveryMs = 4_000;
const outageMs = 30_000;

async function playThrough(trace: string): Promise<void> {
  const calls = Math.floor(outageMs / callEveryMs) - 1;
  for (let number = 2; number <= calls; number += 1) {
    expect(await call(trace, `c${number}`)).toMatchObject(ran(number));
    await sleep(callEveryMs);
  }
  await expectScored(trace, calls);
}

async function nodesListed(): Promise<number> {
  const calls = await apiCallsOf(corral.fleet.controllerUrl);
  const lists = calls.filter(({ verb, resource }) => verb === 'list' && resource === 'nodes');
  return lists.find(({ code }) => code === '200')?.count ?? 0;
}

/** Runs the work while nobody answers for the cluster. */
async function withoutApiServer<Result>(work: () => Promise<Result>): Promise<Result> {
  await stopApiServer(corral.cluster);
  try {
    return await work();
  } finally {
    await startApiServer(corral.cluster);
  }
}

test('the API server is away for half a minute: running rollouts notice nothing, a burst is held and then served', async () => {
  const before = named('before', 4);
  for (const answer of await Promise.all(before.map((trace) => call(trace, 'c1'))))
    expect(answer).toMatchObject(ran(1));
  const hit = await running('hit');
  const burst = await withoutApiServer(async () => {
    await killSandboxd(hit.sandbox);
    const held = named('burst', 8).map((trace) => call(trace, 'c1'));
    await Promise.all([...before.map(playThrough), sleep(outageMs)]);
    // Nobody could say yet what became of its sandbox.
    expect(await view('hit')).toMatchObject({ taint: null, in_flight: 1 });
    return held;
  });
  for (const answer of await Promise.all(burst)) expect(answer).toMatchObject(ran(1));
  await expectLostInFlight(hit, 'sandboxd_killed');
  await Promise.all(named('burst', 8).map((trace) => expectScored(trace, 1)));
}, 240_000);

test('the watch is cut and the history forgotten: it begins again, and what ended meanwhile is told by how it ended', async () => {
  expect(await call('kept', 'c1')).toMatchObject(ran(1));
  const hit = await running('missed');
  const listedBefore = await nodesListed();
  await killSandboxd(hit.sandbox);
  await forgetHistory(corral.cluster);
  await expectLostInFlight(hit, 'sandboxd_killed');
  expect(await call('kept', 'c2')).toMatchObject(ran(2));
  await expectScored('kept', 2);
  // Nodes are listed when their watch cannot go on from where it was, and at no other time.
  expect(await nodesListed()).toBe(listedBefore + 1);
});
