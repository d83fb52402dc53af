import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rolloutId, runId, type RunId, sandboxId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import type { LifecycleStore } from '#src/ports/fleet/lifecycle.ts';

export type LifecycleUnderTest = {
  readonly lifecycle: LifecycleStore;
  /** An empty fleet. */
  readonly reset: () => Promise<void>;
  /** So many rollouts have not been called within their idle time. */
  readonly expires: (count: number) => Promise<void>;
  /** So many native runs, each with a rollout, have not been renewed in time. */
  readonly lapses: (count: number) => Promise<void>;
  /** So many rollouts of {@link run} are open. */
  readonly opens: (count: number) => Promise<void>;
  readonly close: () => Promise<void>;
};

export const tenant = tenantId('acme');
export const run: RunId = runId('run-1');

/** What a controller gets to hear of ends, the same for fleet state and for the fake that is told what to answer. */
export function describeLifecycleStore(name: string, open: () => Promise<LifecycleUnderTest>): void {
  describe(`lifecycle store contract: ${name}`, () => {
    let under: LifecycleUnderTest;
    let lifecycle: LifecycleStore;
    beforeAll(async () => {
      under = await open();
      ({ lifecycle } = under);
    });
    beforeEach(() => under.reset());
    afterAll(() => under.close());

    it('of a sandbox, rollout and run that nobody knows nothing ends', async () => {
      const owner = { tenant, run, rollout: rolloutId('nobody'), attempt: 1, role: 'policy' } as const;
      expect(await lifecycle.lose(sandboxId('stranger'), null, 'evicted', {})).toEqual({ kind: 'none' });
      expect(await lifecycle.close(rolloutKey(owner), 'finished')).toBeNull();
      expect(await lifecycle.heartbeat(rolloutKey(owner))).toBeNull();
      expect(await lifecycle.closeRun(tenant, run, 10)).toBe(0);
      expect(await lifecycle.takeBackGrants(1_000)).toBe(0);
    });

    it('rollouts expire at most so many at a time, each once', async () => {
      await under.expires(3);
      const portions = [
        await lifecycle.expireDue(2),
        await lifecycle.expireDue(2),
        await lifecycle.expireDue(2),
      ];
      expect(portions.map((portion) => portion.length)).toEqual([2, 1, 0]);
      expect(new Set(portions.flat().map(({ state }) => state))).toEqual(new Set(['expired']));
    });

    it('a run is closed at most so many rollouts at a time, and the rest is told', async () => {
      await under.opens(3);
      expect(await lifecycle.closeRun(tenant, run, 2)).toBe(1);
      expect(await lifecycle.closeRun(tenant, run, 2)).toBe(0);
    });

    it('in a run that has not lapsed nothing is released, and contact that was kept gives nothing back', async () => {
      expect(await lifecycle.releaseLapsed(tenant, run, 10)).toBe(0);
      await lifecycle.keepContact(0);
      expect(await lifecycle.keepContact(0)).toBe(0);
    });

    it('lapsed runs come at most so many at a time', async () => {
      await under.lapses(3);
      expect(await lifecycle.lapsedRuns(2)).toHaveLength(2);
      expect((await lifecycle.lapsedRuns(10)).map((one) => one.tenant)).toEqual([tenant, tenant, tenant]);
    });
  });
}
