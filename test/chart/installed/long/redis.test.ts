import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, test } from 'vitest';
import { underLoad } from '#test/support/load.ts';
import { installRelease, type Release } from '#test/support/release.ts';

let corral: Release;
beforeAll(async () => {
  corral = await installRelease('redis');
});
afterAll(() => corral.remove());

const pod = 'redis-redis-0';
const redis = (...command: readonly string[]) => corral.kubectl(['exec', pod, '--', 'redis-cli', ...command]);

test('its pod is deleted under load and comes back empty: every rollout is scored, every answer is 200', async () => {
  await underLoad(corral, async () => {
    await corral.kubectl(['delete', 'pod', pod]);
    await corral.kubectl(['rollout', 'status', 'statefulset/redis-redis', '--timeout=60s']);
  });
});

test('it is demoted to a replica under load, and promoted again: every rollout is scored, every answer is 200', async () => {
  await underLoad(corral, async () => {
    await redis('REPLICAOF', '127.0.0.1', '1');
    // As long as a failover takes, and longer than one command's time.
    await sleep(5_000);
    await redis('REPLICAOF', 'NO', 'ONE');
    await sleep(5_000);
  });
});
