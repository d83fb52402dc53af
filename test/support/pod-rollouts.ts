import { expect } from 'vitest';
import type { LossCause } from '#src/failure/codes.ts';
import type { ClusterFleetOfTest, HeldPod } from './cluster-fleet.ts';
import { eventually } from './eventually.ts';
import { type Answer, expectFailure, toldLost } from './faces.ts';

/** Rollouts of one environment as a trainer plays them, and what it must be told of them when their pods fail. */
export type PodRollouts = {
  readonly call: (trace: string, call: string, command?: string) => Promise<Answer>;
  readonly grade: (trace: string) => Promise<Answer>;
  readonly view: (trace: string) => Promise<unknown>;
  /** Sends a first call that takes a while, and resolves when it runs. */
  readonly running: (trace: string, command?: string) => Promise<RunningRollout>;
  /** A call and the grade are served, and `score` is how often commands have run. */
  readonly expectScored: (trace: string, score: number) => Promise<void>;
  /** Nobody can take it for the model's: 503 on both faces, for calls and for the grade, and a verdict to discard it. */
  readonly expectLost: (trace: string, cause: LossCause) => Promise<void>;
  /** The same of one that lost its pod in the middle of its call `c1`, which may have run. */
  readonly expectLostInFlight: (rollout: RunningRollout, cause: LossCause) => Promise<void>;
};

export type RunningRollout = HeldPod & { readonly trace: string; readonly answer: Promise<Answer> };

/** Leaves a line of evidence and shows all of them. */
const evidence = 'echo ran >> log; cat log';

/** What that answers once it has run so often. */
export const ran = (times: number) => ({ status: 200, body: { output: 'ran\n'.repeat(times) } });

export function rolloutsOf(corral: () => ClusterFleetOfTest, environment: string): PodRollouts {
  const call = (trace: string, call: string, command = evidence) =>
    corral().rft.call({ trace, call, command, environment });
  const grade = (trace: string) => corral().rft.grade({ trace, environment });
  const view = async (trace: string) => (await corral().native.get(`/v1/rollouts/${trace}`)).body;

  const expectLost = async (trace: string, cause: LossCause) => {
    const told = { ...toldLost, admitted: 'no', rollout_id: trace, evidence: { cause } } as const;
    await eventually(() => view(trace), { taint: { code: 'sandbox_lost', cause } });
    expectFailure(await call(trace, 'later'), told);
    expectFailure(await corral().native.shell(trace, 'later-native', 'echo'), told);
    expectFailure(await grade(trace), told);
    const verdict = { kind: 'discard', code: 'sandbox_lost', cause };
    expect(await view(trace)).toMatchObject({ score: null, verdict });
  };

  return {
    call,
    grade,
    view,
    running: async (trace, command = `${evidence}; sleep 50`) => {
      const answer = call(trace, 'c1', command);
      await eventually(() => view(trace), { in_flight: 1 });
      return { trace, answer, ...(await corral().podOf(trace)) };
    },
    expectScored: async (trace, score) => {
      expect(await view(trace)).toMatchObject({ taint: null, verdict: { kind: 'scorable' } });
      expect(await grade(trace)).toMatchObject({ status: 200, body: { score } });
    },
    expectLost,
    expectLostInFlight: async ({ trace, answer }, cause) => {
      const told = { ...toldLost, admitted: 'unknown', evidence: { cause } } as const;
      expectFailure(await answer, { ...told, rollout_id: trace, call_id: 'c1' });
      await expectLost(trace, cause);
    },
  };
}
