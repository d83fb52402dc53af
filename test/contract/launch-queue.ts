import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { HandleTicket, LaunchEnd, LaunchQueue } from '#src/ports/launch-queue.ts';

export type QueuesUnderTest = {
  /** A queue of a fleet of its own, for at most `max` tickets. */
  open(max: number): Promise<LaunchQueue>;
  close(): Promise<void>;
};

/** What a launch that worked ends with, where it does not matter. */
const ready: LaunchEnd = { kind: 'ready', rollout: null };

const max = 6;

/** A launch that takes until its worker is told to stop. */
const untilStopped: HandleTicket = (_ticket, signal) =>
  new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopping')), { once: true });
  });

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
      queue = await queues.open(max);
      stop = new AbortController();
      working = [];
    });
    afterEach(async () => {
      stop.abort();
      await Promise.all(working);
      await queue.close();
    });
    afterAll(() => queues.close());

    const work = (concurrency: number, handle: HandleTicket, signal = stop.signal) => {
      const done = queue.work(concurrency, handle, signal);
      working.push(done);
      return done;
    };

    it('an offer is for so many in all, and the queue is never longer than its bound', async () => {
      await queue.offer(3);
      await queue.offer(3);
      expect(await queue.depth()).toBe(3);
      await queue.offer(50);
      expect(await queue.depth()).toBe(max);
      await queue.offer(0);
      expect(await queue.depth()).toBe(max);
    });

    it('running tickets count: only what is missing is added', async () => {
      await queue.offer(2);
      void work(2, untilStopped);
      await queue.offer(3);
      expect(await queue.depth()).toBe(3);
      await vi.waitFor(async () => expect(await queue.counts()).toMatchObject({ wait: 1, active: 2 }));
    });

    it('every ticket is handled once, at most `concurrency` at a time, and its place is free again', async () => {
      const tickets: string[] = [];
      let running = 0;
      let most = 0;
      // The first waits for the second: a busy machine might hand them out one after the other.
      const two = Promise.withResolvers<void>();
      void work(2, async (ticket) => {
        running += 1;
        most = Math.max(most, running);
        if (running === 2) two.resolve();
        await two.promise;
        await new Promise(setImmediate);
        tickets.push(ticket.name);
        running -= 1;
        return ready;
      });
      await queue.offer(max);
      await expect.poll(() => tickets.length).toBe(max);
      await expect.poll(() => queue.depth()).toBe(0);
      await queue.offer(1);
      await expect.poll(() => tickets.length).toBe(max + 1);
      expect(new Set(tickets).size).toBe(max + 1);
      expect(most).toBe(2);
    });

    it('a ticket whose handler fails is handed out again under the same name', async () => {
      const tickets: string[] = [];
      void work(1, async (ticket) => {
        tickets.push(ticket.name);
        if (tickets.length === 1) throw new Error('Redis was away');
        return ready;
      });
      await queue.offer(1);
      await expect.poll(() => tickets.length).toBe(2);
      expect(tickets[0]).toBe(tickets[1]);
    });

    it('a ticket whose launch failed is used: it is not handed out again, and its place is free', async () => {
      const tickets: string[] = [];
      void work(1, async (ticket) => {
        tickets.push(ticket.name);
        return { kind: 'failed', code: 'start_failed', message: 'no such program' };
      });
      await queue.offer(1);
      await expect.poll(() => tickets.length).toBe(1);
      await expect.poll(() => queue.depth()).toBe(0);
      await queue.offer(1);
      await expect.poll(() => tickets.length).toBe(2);
      expect(tickets[0]).not.toBe(tickets[1]);
    });

    it('a worker that is told to stop gives its tickets to others, and ends', async () => {
      const first = new AbortController();
      let taken = 0;
      const working = work(2, (...given) => ((taken += 1), untilStopped(...given)), first.signal);
      await queue.offer(2);
      await expect.poll(() => taken).toBe(2);
      first.abort();
      await working;
      let handled = 0;
      void work(2, async () => ((handled += 1), ready));
      await expect.poll(() => handled).toBe(2);
    });

    it('a worker that is told to stop before it began takes nothing', async () => {
      await queue.offer(1);
      await work(1, () => Promise.reject(new Error('it took a ticket')), AbortSignal.abort());
      expect(await queue.depth()).toBe(1);
    });
  });
}
