import { Queue } from 'bullmq';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createLaunchQueue } from '#src/adapters/bullmq/launch-queue.ts';
import { ticketPlace } from '#src/adapters/bullmq/tickets.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { sandboxId, templateDigest } from '#src/model/ids.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { systemClock } from '#src/platform/clock.ts';
import { systemRandom } from '#src/platform/random.ts';
import type { HandleTicket, LaunchQueue } from '#src/ports/launch-queue.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';
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
/** Connections are cut on purpose here; they fix themselves. */
const onError = () => undefined;

function open(fleet = 'test'): LaunchQueue {
  const queue = createLaunchQueue({ redis: redis.socket, fleet, max, random: systemRandom, onError });
  opened.push(queue);
  return queue;
}

function work(queue: LaunchQueue, concurrency: number, handle: HandleTicket) {
  const done = queue.work(concurrency, handle, stop.signal);
  working.push(done);
  return done;
}

const untilStopped: HandleTicket = (_ticket, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopping')), { once: true });
  });

const launched = {
  sandbox: sandboxId('sandbox-1'),
  template: templateDigest('T'),
  reason: 'waiting',
  run: 'lab/run-1',
} as const;

/** What any board of BullMQ's shows, of every job that waits, runs or is kept. */
async function onABoard() {
  const { queue: name, prefix } = ticketPlace('test');
  const board = new Queue(name, { prefix, connection: { path: redis.socket } });
  try {
    const jobs = await board.getJobs();
    const shown = jobs.map(async (job) => ({
      state: await job.getState(),
      data: job.data as unknown,
      progress: job.progress,
      failedReason: job.failedReason,
      returnvalue: job.returnvalue as unknown,
    }));
    return { jobs: await Promise.all(shown), budget: await board.getGlobalConcurrency() };
  } finally {
    await board.close();
  }
}

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
  void work(other, 2, async () => ((handled += 1), { kind: 'ready', rollout: null }));
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

test('a ticket is blank until its worker has reserved; then a board shows its launch, its slow step, and who got it', async () => {
  const queue = open();
  await queue.offer(1);
  expect((await onABoard()).jobs).toMatchObject([{ state: 'waiting', data: {}, progress: 0 }]);
  const probed = Promise.withResolvers<void>();
  const rollout = rolloutKey(fakeOwner());
  void work(queue, 1, async (ticket) => {
    ticket.reserved(launched);
    ticket.stands('create');
    ticket.stands('probe');
    await probed.promise;
    return { kind: 'ready', rollout };
  });
  const running = { state: 'active', data: { ...launched, attempt: 1 }, progress: { step: 'probe' } };
  await expect.poll(async () => (await onABoard()).jobs).toMatchObject([running]);
  probed.resolve();
  const kept = { state: 'completed', progress: { step: 'ready' }, returnvalue: { rollout } };
  await expect.poll(async () => (await onABoard()).jobs).toMatchObject([{ ...running, ...kept }]);
  expect(await queue.depth()).toBe(0);
});

test('a launch that failed is a failed job with its code and the step at which it stood; a ticket for nothing leaves none', async () => {
  const queue = open();
  let handed = 0;
  void work(queue, 1, async (ticket) => {
    handed += 1;
    if (handed === 1) return { kind: 'nothing' };
    ticket.reserved(launched);
    ticket.stands('prepare');
    return { kind: 'failed', code: 'setup_failed', message: 'prepare failed: exit 1' };
  });
  await queue.offer(1);
  await eventually('the first is over', async () => handed === 1 && (await queue.depth()) === 0);
  expect((await onABoard()).jobs).toEqual([]);
  await queue.offer(1);
  await expect
    .poll(async () => (await onABoard()).jobs)
    .toMatchObject([
      {
        state: 'failed',
        data: launched,
        progress: { step: 'prepare' },
        failedReason: 'setup_failed: prepare failed: exit 1',
      },
    ]);
});

test('a board that has kept a launch of every slot keeps nobody from the next', async () => {
  const queue = open();
  let handled = 0;
  void work(queue, max, async (ticket) => {
    handled += 1;
    ticket.reserved(launched);
    ticket.stands('create');
    return { kind: 'ready', rollout: null };
  });
  for (let round = 1; round <= 3; round += 1) {
    await queue.offer(max);
    await eventually('the round is over', async () => handled === round * max && (await queue.depth()) === 0);
  }
  expect((await onABoard()).jobs).toHaveLength(3 * max);
});

test('the budget of all workers together is BullMQ’s own, also in a Redis that has forgotten it', async () => {
  const queue = open();
  await queue.offer(1);
  await expect.poll(async () => (await onABoard()).budget).toBe(max);
  await redis.restart('nothing');
  await expect.poll(async () => (await onABoard()).budget, { timeout: 10_000 }).toBe(max);
});
