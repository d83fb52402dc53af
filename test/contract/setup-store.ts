import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import type { Replay, SetupStore } from '#src/ports/fleet/setup.ts';
import { expectTrueRecord } from './rollout-record.ts';

export type SetupUnderTest = {
  readonly setups: () => SetupStore;
  /** An empty fleet. */
  readonly reset: () => Promise<void>;
  /** A rollout whose sandbox was lost after these calls of its set-up, each sent {@link sentBy} and ended {@link endOf}. */
  readonly heals: (...calls: readonly string[]) => Promise<RolloutRecord>;
  readonly close: () => Promise<void>;
};

export const sentBy = (call: string): string => `sent by ${call}`;
export const endOf = (call: string): string => `end of ${call}`;

/** How a gateway replays set-up, the same for fleet state and for the fake of tests. */
export function describeSetupStore(name: string, open: () => Promise<SetupUnderTest>): void {
  describe(`setup store contract: ${name}`, () => {
    let under: SetupUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    beforeEach(() => under.reset());
    afterAll(() => under.close());

    const replay = (
      { key, generation }: Pick<RolloutRecord, 'key' | 'generation'>,
      step = 0,
      digest = '',
    ): Promise<Replay> => under.setups().replay(key, generation, step === 0 ? null : { step, digest });

    it('hands out the steps in their order, each until its end is reported, and then it is done', async () => {
      const rollout = await under.heals('s1', 's2');
      const first = { kind: 'step', step: 1, call: 's1', sent: sentBy('s1') };
      const second = { kind: 'step', step: 2, call: 's2', sent: sentBy('s2') };
      expect(await replay(rollout)).toEqual(first);
      expect(await replay(rollout)).toEqual(first);
      expect(await replay(rollout, 1, endOf('s1'))).toEqual(second);
      expect(await replay(rollout, 1, endOf('s1'))).toEqual(second);
      expect(await replay(rollout, 2, endOf('s2'))).toEqual({ kind: 'done' });
      expect(await replay(rollout)).toEqual({ kind: 'done' });
    });

    it('discards the rollout at another end, once', async () => {
      const rollout = await under.heals('s1');
      const replayed = await replay(rollout, 1, 'another end');
      if (replayed.kind !== 'lost') throw new Error(`it is ${replayed.kind}`);
      expectTrueRecord(replayed.rollout);
      expect(replayed.rollout).toMatchObject({ healing: null, discarded: { code: 'sandbox_lost' } });
      expect(await replay(rollout, 1, 'another end')).toEqual({ kind: 'over' });
    });

    it('is over for another generation', async () => {
      const rollout = await under.heals('s1');
      expect(await replay({ ...rollout, generation: rollout.generation + 1 })).toEqual({ kind: 'over' });
    });

    it('has nothing to replay where no call had ended', async () => {
      expect(await replay(await under.heals())).toEqual({ kind: 'done' });
    });
  });
}
