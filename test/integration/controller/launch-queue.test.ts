import { Queue } from 'bullmq';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLaunchQueue, launchPlace } from '#src/adapters/bullmq/launch-queue.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { systemClock } from '#src/platform/clock.ts';
import type { HandleLaunch, LaunchQueue } from '#src/ports/launch-queue.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';
import { createLaunchBoard } from '#src/adapters/bullmq/launch-board.ts';
import { fakeJob, fakeLaunch } from '#test/fakes/launch-queue.ts';
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

/** Connections are cut on purpose here; they fix themselves. */
const onError = () => undefined;

function open(fleet = 'test'): LaunchQueue {
  const queue = createLaunchQueue({ redis: redis.socket, fleet, onError });
  opened.push(queue);
  return queue;
}

function work(queue: LaunchQueue, concurrency: number, handle: HandleLaunch) {
  const done = queue.work(concurrency, handle, stop.signal);
  working.push(done);
  return done;
}

const untilStopped: HandleLaunch = (_job, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopping')), { once: true });
  });

const launch = fakeLaunch();
const launches = (count: number) => Array.from({ length: count }, (_, index) => fakeLaunch(`s-${index}`));

/** What any board of BullMQ's shows, of every job that waits, runs or is kept. */
async function onABoard() {
  const { queue: name, prefix } = launchPlace('test');
  const board = new Queue(name, { prefix, connection: { path: redis.socket } });
  try {
    const jobs = await board.getJobs();
    const shown = jobs.map(async (job) => ({
      name: job.name,
      state: await job.getState(),
      data: job.data as unknown,
      progress: job.progress,
      failedReason: job.failedReason,
      returnvalue: job.returnvalue as unknown,
    }));
    return await Promise.all(shown);
  } finally {
    await board.close();
  }
}

// What every launch queue keeps is in test/contract/launch-queue.ts; this is what only a real one can get wrong.

test('a worker that stops does so at once, idle or not, and leaves its launches to others', async () => {
  const [queue, other] = [open(), open()];
  const idle = work(open('another-fleet'), 2, untilStopped);
  const busy = work(queue, 2, untilStopped);
  await queue.add(launches(2));
  await eventually('both are taken', async () => (await queue.counts()).active === 2);
  const beganMs = systemClock.monotonicMs();
  stop.abort();
  await Promise.all([idle, busy]);
  expect(systemClock.monotonicMs() - beganMs).toBeLessThan(2_000);
  stop = new AbortController();
  let handled = 0;
  void work(other, 2, async () => ((handled += 1), { kind: 'ready', rollout: null }));
  await eventually('another runs them', () => handled === 2);
});

test('fleets that share a Redis do not see each other', async () => {
  await open('one').add(launches(2));
  expect(await open('other').counts()).toMatchObject({ wait: 0 });
});

test('while Redis is away an add fails within seconds, and says that it is Redis', async () => {
  const queue = open();
  await queue.add(launches(1));
  redis.freeze();
  try {
    await expect(queue.add(launches(2))).rejects.toMatchObject({ code: 'state_unavailable' });
  } finally {
    redis.thaw();
  }
});

test('a board shows for whom a launch is from its first moment, its slow step, and who got it', async () => {
  const queue = open();
  await queue.add([launch]);
  const shown = { name: launch.environment, data: launch };
  expect(await onABoard()).toMatchObject([{ ...shown, state: 'waiting', progress: 0 }]);
  const probed = Promise.withResolvers<void>();
  const rollout = rolloutKey(fakeOwner());
  void work(queue, 1, async ({ stands }) => {
    stands('create');
    stands('probe');
    await probed.promise;
    return { kind: 'ready', rollout };
  });
  await expect.poll(onABoard).toMatchObject([{ ...shown, state: 'active', progress: { step: 'probe' } }]);
  probed.resolve();
  await expect.poll(onABoard).toMatchObject([{ ...shown, state: 'completed', returnvalue: { rollout } }]);
});

test('a launch that failed is a failed job with its code and the step at which it stood; one that was over leaves none', async () => {
  const queue = open();
  void work(queue, 1, async ({ launch: { sandbox }, stands }) => {
    if (sandbox === 'over') return { kind: 'over' };
    stands('prepare');
    return { kind: 'failed', code: 'setup_failed', message: 'prepare failed: exit 1' };
  });
  await queue.add([fakeLaunch('over'), launch]);
  const failure = { progress: { step: 'prepare' }, failedReason: 'setup_failed: prepare failed: exit 1' };
  await expect.poll(onABoard).toMatchObject([{ state: 'failed', data: launch, ...failure }]);
});

test('what a gateway shows of launches: the newest first, with what became of each', async () => {
  const queue = open();
  const board = createLaunchBoard({ redis: redis.socket, fleet: 'test', onError });
  try {
    expect(await board.recent(3)).toEqual([]);
    const rollout = rolloutKey(fakeOwner());
    void work(queue, 1, async ({ launch: { sandbox } }, signal) => {
      if (sandbox === 's-ready') return { kind: 'ready', rollout };
      if (sandbox === 's-failed') return { kind: 'failed', code: 'setup_failed', message: 'exit 1' };
      return untilStopped(fakeJob(fakeLaunch(sandbox)), signal);
    });
    for (const sandbox of ['s-ready', 's-failed', 's-running', 's-waiting']) {
      const addedMs = Date.now();
      await queue.add([fakeLaunch(sandbox)]);
      await eventually('the clock goes on', () => Date.now() > addedMs + 1);
    }
    const shown = async () =>
      (await board.recent(3)).map(({ launch: { sandbox }, state }) => [sandbox, state]);
    await expect.poll(shown).toEqual([
      ['s-waiting', 'waiting'],
      ['s-running', 'running'],
      ['s-failed', 'failed'],
    ]);
    expect((await board.recent(4)).at(-1)).toMatchObject({ state: 'ready', rollout });
  } finally {
    await board.close();
  }
});

test('launches that are kept for people keep no other from its start', async () => {
  const queue = open();
  let handled = 0;
  void work(queue, 6, async () => ((handled += 1), { kind: 'ready', rollout: null }));
  for (let round = 1; round <= 3; round += 1) {
    await queue.add(Array.from({ length: 6 }, (_, index) => fakeLaunch(`s-${round}-${index}`)));
    await eventually('the round is over', async () => (await queue.counts()).completed === round * 6);
  }
  expect(handled).toBe(18);
});
