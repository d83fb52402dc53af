import { callId } from '#src/model/ids.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import type { Replay, ReplayedStep, SetupStore } from '#src/ports/fleet/setup.ts';
import { fakeRollout } from './rollout-record.ts';

/** A call of the set-up as it was kept: what it sent, and the digest of its end. */
export type FakeStep = { readonly call: string; readonly sent: string; readonly digest: string };

/** The set-up of one rollout that heals, told what is to be replayed. */
export class FakeSetupStore implements SetupStore {
  readonly steps: readonly FakeStep[];
  readonly healing: RolloutRecord;
  #replayed = 0;
  #isLost = false;

  constructor(
    steps: readonly FakeStep[],
    healing: RolloutRecord = fakeRollout({ healing: 'evicted', heals: 1 }),
  ) {
    this.steps = steps;
    this.healing = healing;
  }

  replay(key: RolloutKey, generation: number, ended: ReplayedStep | null): Promise<Replay> {
    return Promise.resolve(this.#next(key, generation, ended));
  }

  #next(key: RolloutKey, generation: number, ended: ReplayedStep | null): Replay {
    const { healing, steps } = this;
    if (this.#isLost || key !== healing.key || generation !== healing.generation) return { kind: 'over' };
    if (ended !== null && steps[ended.step - 1]?.digest !== ended.digest) {
      this.#isLost = true;
      return { kind: 'lost', rollout: { ...healing, ...lost, healing: null } };
    }
    this.#replayed = Math.max(this.#replayed, ended?.step ?? 0);
    const next = steps[this.#replayed];
    if (next === undefined) return { kind: 'done' };
    return { kind: 'step', step: this.#replayed + 1, call: callId(next.call), sent: next.sent };
  }
}

const lost = {
  verdict: 'discarded',
  barred: 'sandbox_lost',
  discarded: { code: 'sandbox_lost', cause: 'evicted', suspected: null, evidence: {}, atMs: 1 },
} as const;
