import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Launch } from '#src/ports/fleet/pool.ts';
import type { HandleLaunch, LaunchEnd, LaunchQueue } from '#src/ports/launch-queue.ts';
import { fakeLaunch } from '../fakes/launch-queue.ts';

export type QueuesUnderTest = {
  /** A queue of a fleet of its own. */
  open(): Promise<LaunchQueue>;
  close(): Promise<void>;
};

/** What a launch that worked ends with, where it does not matter. */
const ready: LaunchEnd = { kind: 'ready', rollout: null };
const failed: LaunchEnd = { kind: 'failed', code: 'start_failed', message: 'no such program' };

/** A launch that takes until its worker is told to stop. */
const untilStopped: HandleLaunch = (_job, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopping')), { once: true });
  });

const launches = (count: number): readonly Launch[] =>
  Array.from({ length: count }, (_, index) => fakeLaunch(`s-${index}`));

/** What the controller relies on, the same for every launch queue. */
export function describeLaunchQueue(name: string, openAll: () => Promise<QueuesUnderTest>): void {
  describe(`launch queue contract: ${name}`, () => {
    let queues: QueuesUnderTest;
    let queue: LaunchQueue;
    let stop: AbortController;
    let working: Promise<void>[];
    beforeAll(async () => {
      queues = await openAll();
    });
    beforeEach(async () => {
      queue = await queues.open();
      stop = new AbortController();
      working = [];
    });
    afterEach(async () => {
      stop.abort();
      await Promise.all(working);
      await queue.close();
    });
    afterAll(() => queues.close());

    const work = (concurrency: number, handle: HandleLaunch, signal = stop.signal) => {
      const done = queue.work(concurrency, handle, signal);
      working.push(done);
      return done;
    };
    /** Works with a handler that ends so, and lists the sandboxes that it was given. */
    const workEnding = (end: () => LaunchEnd) => {
      const given: string[] = [];
      void work(1, async ({ launch }) => {
        given.push(launch.sandbox);
        return end();
      });
      return given;
    };

    it('a launch that is added twice is one job', async () => {
      await queue.add(launches(3));
      await queue.add(launches(3));
      await queue.add([]);
      expect(await queue.counts()).toMatchObject({ wait: 3, active: 0 });
    });

    it('every launch is handled once as it was added, at most `concurrency` at a time', async () => {
      const given: Launch[] = [];
      let running = 0;
      let most = 0;
      // The first waits for the second: a busy machine might hand them out one after the other.
      const two = Promise.withResolvers<void>();
      void work(2, async ({ launch, mayBeOver }) => {
        running += 1;
        most = Math.max(most, running);
        if (running === 2) two.resolve();
        await two.promise;
        await new Promise(setImmediate);
        expect(mayBeOver).toBe(false);
        given.push(launch);
        running -= 1;
        return ready;
      });
      await queue.add(launches(6));
      await vi.waitFor(async () => expect(await queue.counts()).toMatchObject({ completed: 6, active: 0 }));
      expect(given.toSorted((one, other) => (one.sandbox < other.sandbox ? -1 : 1))).toEqual(launches(6));
      expect(most).toBe(2);
    });

    it('a launch whose handler throws is handed out again, and may be over by then', async () => {
      const given: boolean[] = [];
      void work(1, async ({ mayBeOver }) => {
        given.push(mayBeOver);
        if (given.length === 1) throw new Error('Redis was away');
        return ready;
      });
      await queue.add(launches(1));
      await expect.poll(() => given).toEqual([false, true]);
    });

    it('a launch that failed is not handed out again, also if it is added again', async () => {
      const given = workEnding(() => failed);
      await queue.add(launches(1));
      await vi.waitFor(async () => expect(await queue.counts()).toMatchObject({ failed: 1, active: 0 }));
      await queue.add(launches(2));
      await expect.poll(() => given).toEqual(['s-0', 's-1']);
    });

    it.each([
      ['completed', ready],
      ['failed', failed],
    ] as const)('a start whose job has %s gets another job', async (state, end) => {
      const given = workEnding(() => end);
      await queue.add(launches(1));
      await vi.waitFor(async () => expect(await queue.counts()).toMatchObject({ [state]: 1, active: 0 }));
      await queue.addMissing(launches(1));
      await expect.poll(() => given).toEqual(['s-0', 's-0']);
    });

    it('a start gets a job only if none waits or runs', async () => {
      let taken = 0;
      void work(1, (...given) => ((taken += 1), untilStopped(...given)));
      await queue.add(launches(2));
      await expect.poll(() => taken).toBe(1);
      await queue.addMissing(launches(3));
      expect(await queue.counts()).toMatchObject({ wait: 2, active: 1 });
    });

    it('a start whose job waits or runs keeps that job, however many there are', async () => {
      const given: boolean[] = [];
      void work(4, (job, signal) => (given.push(job.mayBeOver), untilStopped(job, signal)));
      await queue.add(launches(10));
      await expect.poll(() => given).toEqual([false, false, false, false]);
      await queue.addMissing(launches(10));
      expect(await queue.counts()).toMatchObject({ wait: 6, active: 4 });
      let later: boolean[] = [];
      void work(6, (job, signal) => ((later = [...later, job.mayBeOver]), untilStopped(job, signal)));
      await expect.poll(() => later).toEqual(Array.from({ length: 6 }, () => false));
    });

    it('a job that a start gets again says that the start may be over', async () => {
      const given: boolean[] = [];
      void work(1, async ({ mayBeOver }) => (given.push(mayBeOver), ready));
      await queue.addMissing(launches(1));
      await expect.poll(() => given).toEqual([true]);
    });

    it('a worker that is stopped gives its launches to others, and ends', async () => {
      const first = new AbortController();
      let taken = 0;
      const done = work(2, (...given) => ((taken += 1), untilStopped(...given)), first.signal);
      await queue.add(launches(2));
      await expect.poll(() => taken).toBe(2);
      first.abort();
      await done;
      let handled = 0;
      void work(2, async () => ((handled += 1), ready));
      await expect.poll(() => handled).toBe(2);
    });

    it('a worker that is told to stop before it began takes nothing', async () => {
      await queue.add(launches(1));
      await work(1, () => Promise.reject(new Error('it took a launch')), AbortSignal.abort());
      expect(await queue.counts()).toMatchObject({ wait: 1 });
    });
  });
}
