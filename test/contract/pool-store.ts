import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { bootId, sandboxId, templateDigest } from '#src/model/ids.ts';
import { type RolloutKey, sandboxAddress } from '#src/model/rollout.ts';
import type { PoolStore } from '#src/ports/fleet/pool.ts';

export type PoolUnderTest = {
  readonly pool: PoolStore;
  /** An empty fleet. */
  readonly reset: () => Promise<void>;
  /** One sandbox of {@link template} is to be started. */
  readonly wants: () => void;
  /** A rollout stands in line for {@link template}. */
  readonly waits: () => Promise<RolloutKey>;
  /** So many sandboxes are on their way out. */
  readonly drains: (count: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

export const template = templateDigest('template-a');
const target = { template, minReady: 5, max: 10 };
const address = sandboxAddress('unix:/run/s');

/** What a controller gets to hear of the pool, the same for fleet state and for the fake that is told what to answer. */
export function describePoolStore(name: string, open: () => Promise<PoolUnderTest>): void {
  describe(`pool store contract: ${name}`, () => {
    let under: PoolUnderTest;
    let pool: PoolStore;
    beforeAll(async () => {
      under = await open();
      ({ pool } = under);
    });
    beforeEach(() => under.reset());
    afterAll(() => under.close());

    const reserve = (sandbox: string, targets = [target]) =>
      pool.reserve([sandboxId(sandbox)], targets, 100, 60_000);
    const started = async (sandbox: string) => {
      under.wants();
      return reserve(sandbox);
    };

    it('a reservation gets what is to be started, and nothing where nothing is wanted', async () => {
      expect(await reserve('s0', [])).toEqual({ launches: [], starting: 0, isUnplanned: false });
      const launch = { sandbox: 's1', template, environment: 'unknown', reason: 'refill', run: null };
      expect(await started('s1')).toEqual({ launches: [launch], starting: 1, isUnplanned: false });
    });

    it('a sandbox that becomes ready is nobody’s, or goes to who waits', async () => {
      await started('s1');
      expect(await pool.ready(sandboxId('s1'), bootId('b1'), address)).toBeNull();
      await under.reset();
      const waiter = await under.waits();
      await started('s2');
      expect(await pool.ready(sandboxId('s2'), bootId('b2'), address)).toBe(waiter);
    });

    it('each template that is asked for is counted, and no other', async () => {
      const counts = await pool.counts([template, templateDigest('nobody’s')]);
      expect(counts.map((one) => one.template)).toEqual([template, 'nobody’s']);
      expect(counts[1]).toEqual({
        template: 'nobody’s',
        ready: 0,
        launching: 0,
        held: 0,
        waiting: 0,
        oldestWaitMs: 0,
        announced: 0,
        breaker: 'closed',
        lastFailure: null,
      });
      expect(await pool.counts([])).toEqual([]);
    });

    it('sandboxes on their way out come at most so many at a time', async () => {
      expect(await pool.draining(10)).toEqual([]);
      await under.drains(3);
      expect(await pool.draining(2)).toHaveLength(2);
      expect(await pool.draining(10)).toHaveLength(3);
    });

    it('an empty fleet knows no sandbox, has none overdue and retires none', async () => {
      expect(await pool.known()).toEqual(new Map());
      expect(await pool.known([sandboxId('never-was')])).toEqual(new Map());
      expect(await pool.moved('', 10)).toMatchObject({ isWhole: true, isBehind: false, sandboxes: [] });
      expect(await pool.overdueLaunches()).toEqual([]);
      expect(await pool.starts(0)).toEqual([]);
      expect(await pool.retire(template, 1_000, 0)).toBe(0);
      await pool.forget(sandboxId('never-was'));
      await pool.launchFailed(sandboxId('never-was'), 'start_failed', 'exit 1', null);
    });

    it('work is hinted at until nobody listens any more', async () => {
      let hints = 0;
      const stop = pool.onWork(() => (hints += 1));
      await under.waits();
      await expect.poll(() => hints).toBeGreaterThan(0);
      stop();
      stop();
    });
  });
}
