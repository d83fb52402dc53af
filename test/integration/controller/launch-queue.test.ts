import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLaunchQueue } from '../../../src/adapters/bullmq/launch-queue.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { systemRandom } from '../../../src/platform/random.ts';
import type { LaunchQueue } from '../../../src/ports/launch-queue.ts';
import { startRedis } from '../../support/redis.ts';
import type { PrivateRedis } from '../../support/redis.ts';
import { eventually } from './fleet.ts';

let redis: PrivateRedis;
let opened: LaunchQueue[] = [];
let stop = new AbortController();
let working: Promise<void>[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(async () => {
  await redis.restart('nothing');
  stop = new AbortController();
  [opened, working] = [[], []];
});
afterEach(async () => {
  stop.abort();
  await Promise.all(working);
  await Promise.all(opened.map((queue) => queue.close()));
});
afterAll(() => redis.stop());

const max = 6;
/** Connections are cut on purpose here; they mend themselves. */
const onError = () => undefined;

function open(fleet = 'test'): LaunchQueue {
  const queue = createLaunchQueue({ redis: redis.socket, fleet, max, random: systemRandom, onError });
  opened.push(queue);
  return queue;
}

function work(
  queue: LaunchQueue,
  concurrency: number,
  handle: (ticket: string, signal: AbortSignal) => Promise<void>,
) {
  const done = queue.work(concurrency, handle, stop.signal);
  working.push(done);
  return done;
}

const untilStopped = (_ticket: string, signal: AbortSignal) =>
  new Promise<void>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopping')), { once: true });
  });

// What every launch queue keeps is in test/contract/launch-queue.ts; this is what only a real one can get wrong.

test('controllers that offer at the same moment do not add up, and the queue is never longer than its bound', async () => {
  const [one, other] = [open(), open()];
  await Promise.all([one.offer(3), other.offer(3)]);
  expect(await one.depth()).toBe(3);
  await other.offer(50);
  expect(await one.depth()).toBe(max);
});

test('a worker that stops does so at once, idle or not, and leaves its tickets to others', async () => {
  const [queue, other] = [open(), open()];
  const idle = work(open('another-fleet'), 2, untilStopped);
  const busy = work(queue, 2, untilStopped);
  await queue.offer(2);
  await eventually('both are taken', async () => (await queue.depth()) === 2);
  const beganMs = systemClock.monotonicMs();
  stop.abort();
  await Promise.all([idle, busy]);
  expect(systemClock.monotonicMs() - beganMs).toBeLessThan(2_000);
  stop = new AbortController();
  let handled = 0;
  void work(other, 2, async () => void (handled += 1));
  await eventually('another works them off', () => handled === 2);
});

test('fleets that share a Redis do not see each other', async () => {
  await open('one').offer(2);
  expect(await open('other').depth()).toBe(0);
});

test('while Redis is away an offer fails within seconds, and says that it is Redis', async () => {
  const queue = open();
  await queue.offer(1);
  redis.freeze();
  try {
    await expect(queue.offer(2)).rejects.toMatchObject({ code: 'state_unavailable' });
  } finally {
    redis.thaw();
  }
});
