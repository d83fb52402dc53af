import type { LossCause } from '#src/failure/codes.ts';
import type { Evidence, Failure } from '#src/failure/failure.ts';
import type { RunId, SandboxId, TenantId } from '#src/model/ids.ts';
import type { LifecycleStore, LossEffect } from '#src/ports/fleet/lifecycle.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';

export type FakeLifecycleStore = LifecycleStore & {
  readonly losses: { readonly sandbox: SandboxId; readonly cause: LossCause; readonly evidence: Evidence }[];
  readonly releasedRuns: RunId[];
  readonly answers: {
    effect: LossEffect;
    /** Handed out at most `limit` at a time, until none is left. */
    expired: RolloutRecord[];
    takenBack: number;
    lapsed: readonly { readonly tenant: TenantId; readonly run: RunId }[];
    /** Rollouts left in a run; each `closeRun` and `releaseLapsed` takes off its limit. */
    leftInRun: number;
    nextError: Failure | null;
  };
};

/** Ends of rollouts, runs and sandboxes, told what to answer, remembering what it was told. */
export function createFakeLifecycleStore(): FakeLifecycleStore {
  const answers: FakeLifecycleStore['answers'] = {
    effect: { kind: 'none' },
    expired: [],
    takenBack: 0,
    lapsed: [],
    leftInRun: 0,
    nextError: null,
  };
  const losses: FakeLifecycleStore['losses'] = [];
  const releasedRuns: RunId[] = [];
  const leave = (limit: number) => (answers.leftInRun = Math.max(0, answers.leftInRun - limit));
  const failing = () => {
    const { nextError } = answers;
    answers.nextError = null;
    return nextError === null ? Promise.resolve() : Promise.reject(nextError);
  };

  return {
    answers,
    losses,
    releasedRuns,
    lose: async (sandbox, _boot, cause, evidence) => {
      await failing();
      losses.push({ sandbox, cause, evidence });
      return answers.effect;
    },
    close: () => Promise.resolve(null),
    refuse: () => Promise.resolve(null),
    void: () => Promise.resolve(null),
    showsAgain: () => Promise.resolve(false),
    heartbeat: () => Promise.resolve(null),
    unserved: () => Promise.resolve(),
    expireDue: async (limit) => {
      await failing();
      return answers.expired.splice(0, limit);
    },
    takeBackGrants: () => Promise.resolve(answers.takenBack),
    heartbeatRun: () => Promise.resolve(true),
    closeRun: (_tenant, _run, limit) => Promise.resolve(leave(limit)),
    lapsedRuns: (limit) => Promise.resolve(answers.lapsed.slice(0, limit)),
    releaseLapsed: (_tenant, run, limit) => {
      releasedRuns.push(run);
      return Promise.resolve(leave(limit));
    },
    keepContact: () => Promise.resolve(0),
  };
}
