import { afterAll, beforeAll, expect, test } from 'vitest';
import { clusterOfTest } from '#test/support/cluster.ts';
import { underLoad } from '#test/support/load.ts';
import { type NodeVolume, offerVolume } from '#test/support/node-volume.ts';
import { countingEnvironment, installRelease, type Release } from '#test/support/release.ts';

/** Only one sandbox: whoever comes second waits. The variable keeps its pool apart from the other environment's. */
const single = {
  ...countingEnvironment,
  name: 'single',
  sandbox: { ...countingEnvironment.sandbox, env: { POOL: 'single' } },
  pool: { min_ready: 0, max: 1 },
};

let volume: NodeVolume;
let corral: Release;
beforeAll(async () => {
  volume = await offerVolume(await clusterOfTest(), 'n1', 'kept');
  const persistence = { enabled: true, size: '1Gi', storageClass: volume.storageClass };
  corral = await installRelease('kept', {
    environments: { inline: { single } },
    redis: { bundled: { persistence } },
  });
});
afterAll(async () => {
  await corral.remove();
  await volume.remove();
});

const counted = 'echo ran >> log; wc -l < log';
const call = (trace: string, id: string, environment = 'counting') =>
  corral.rft.call({ trace, call: id, command: counted, environment });
/** Who waits for the one sandbox, in the order in which they came. */
const line = ['next', 'second', 'third'];
/** Opens it, or asks again where it stands. */
const place = (rollout: string) => corral.native.open(rollout, 'single');
const ranTimes = (times: number) => ({ status: 200, body: { output: `${times}\n` } });
const grade = (trace: string) => corral.rft.grade({ trace, environment: 'counting' });
/** What its path tells; without the share that is idle of what all sandboxes have cost, which goes on. */
async function bodyOf(path: string): Promise<unknown> {
  const { body } = await corral.native.get(path);
  return JSON.parse(
    JSON.stringify(body, (name, value: unknown) => (name === 'fleet_idle_share' ? undefined : value)),
  );
}

/** Deletes its pod; resolves when another one has read the append-only file and serves. */
async function restartRedis(): Promise<void> {
  await corral.kubectl(['delete', 'pod', 'kept-redis-0']);
  await corral.kubectl(['rollout', 'status', 'statefulset/kept-redis', '--timeout=100s']);
}

test('a Redis that keeps its file is deleted: scores, reports, what runs and who waits are as they were', async () => {
  expect(await call('closed', 'c1')).toMatchObject(ranTimes(1));
  expect(await grade('closed')).toMatchObject({ status: 200, body: { score: 1 } });
  expect(await call('live', 'c1')).toMatchObject(ranTimes(1));
  expect(await call('holder', 'c1', 'single')).toMatchObject(ranTimes(1));
  const waiting = [];
  for (const [ahead, trace] of line.entries()) {
    expect(await place(trace)).toMatchObject({ status: 201, body: { ahead } });
    waiting.push(corral.native.shell(trace, 'c1', counted));
  }
  const kept = ['/v1/rollouts/closed', '/v1/rollouts/closed/verdict', '/v1/runs/operator'];
  const before = await Promise.all(kept.map(bodyOf));

  await restartRedis();

  // Who only looks is told that state is away, instead of being held.
  await expect.poll(() => corral.native.get('/v1/rollouts/closed')).toMatchObject({ status: 200 });
  expect(await Promise.all(kept.map(bodyOf))).toEqual(before);
  // Asked again it is the stored score: the sandbox that it was computed in is gone.
  expect(await grade('closed')).toMatchObject({ status: 200, body: { score: 1 } });
  expect(await call('live', 'c2')).toMatchObject(ranTimes(2));
  for (const [ahead, trace] of line.entries())
    expect(await place(trace)).toMatchObject({ status: 200, body: { ahead } });
  // Each has the sandbox when the one before it is over.
  for (const [at, trace] of ['holder', ...line.slice(0, -1)].entries()) {
    expect(await corral.native.post(`/v1/rollouts/${trace}/finish`, {})).toMatchObject({ status: 200 });
    expect(await waiting[at]).toMatchObject(ranTimes(1));
  }
  expect(await grade('live')).toMatchObject({ status: 200, body: { score: 2 } });
});

test('it is restarted with another password under load: all are held until the Secret has come, scored, and answered 200', async () => {
  const patch = JSON.stringify({ stringData: { password: 'another' } });
  await underLoad(corral, async () => {
    await corral.kubectl(['patch', 'secret', 'kept-redis', '--type=merge', `--patch=${patch}`]);
    await restartRedis();
    expect(await call('after', 'c1')).toMatchObject(ranTimes(1));
  });
});
