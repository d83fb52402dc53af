import { mean, type Subject, sum } from './rollout.ts';

/*
 * What a training step will ask of a fleet. Calls and their seconds come from the study. The shape of a step and the model's
 * thinking time are assumptions, printed next to every figure that depends on them.
 */

export type Assumptions = {
  readonly rolloutsPerStep: number;
  readonly copiesPerItem: number;
  /** A model's own time before each call, and before its last message. */
  readonly thinkingS: number;
  readonly steps: number;
  /** How much more the worst second asks than the mean of the first two minutes. */
  readonly worstSecond: number;
};

/**
 * The load model of docs/load-tests.md: 512 rollouts are its most frequent step, 8 copies its most frequent group. Thinking is
 * lognormal with a median of 5.7 s and sigma 1.06, so 10.0 s on the mean. Of 36 calls a second in the first two minutes, 58 to
 * 67 were seen in the worst one. Gains in public runs came within some ten steps.
 */
export const usualAssumptions: Assumptions = {
  rolloutsPerStep: 512,
  copiesPerItem: 8,
  thinkingS: 5.7 * Math.exp(1.06 ** 2 / 2),
  steps: 10,
  worstSecond: 1.8,
};

export type Burst = {
  readonly assumed: Assumptions;
  readonly callsPerRollout: number;
  /** Null: the source does not tell; then the fleet's part of a rollout is left out. */
  readonly callS: number | null;
  readonly gradeS: number | null;
  readonly rolloutS: number;
  readonly callsPerStep: number;
  readonly callsPerSecond: number;
  readonly worstCallsPerSecond: number;
  readonly sandboxHoursPerStep: number;
  readonly sandboxHours: number;
  readonly stepsPerEpoch: number;
};

/** Null where no rollout came to an end. */
export function burstOf(
  { rollouts }: Pick<Subject, 'rollouts'>,
  rows: number,
  assumed: Assumptions,
): Burst | null {
  const ended = rollouts.filter((rollout) => rollout.ended.kind !== 'lost');
  const callsPerRollout = mean(ended.map(({ calls }) => calls.length));
  if (callsPerRollout === null) return null;
  const callS = seconds(ended.flatMap(({ calls }) => calls.flatMap(({ tookMs }) => tookMs ?? [])));
  const gradeS = seconds(
    ended.flatMap(({ tookMs, calls }) =>
      tookMs === null ? [] : Math.max(0, tookMs - sum(calls.map((call) => call.tookMs ?? 0))),
    ),
  );
  const roundS = assumed.thinkingS + (callS ?? 0);
  const rolloutS = callsPerRollout * roundS + assumed.thinkingS + (gradeS ?? 0);
  const callsPerSecond = callsPerRollout === 0 ? 0 : (assumed.rolloutsPerStep * callsPerRollout) / rolloutS;
  const sandboxHoursPerStep = (assumed.rolloutsPerStep * rolloutS) / 3600;
  return {
    assumed,
    callsPerRollout,
    callS,
    gradeS,
    rolloutS,
    callsPerStep: assumed.rolloutsPerStep * callsPerRollout,
    callsPerSecond,
    worstCallsPerSecond: callsPerSecond * assumed.worstSecond,
    sandboxHoursPerStep,
    sandboxHours: sandboxHoursPerStep * assumed.steps,
    stepsPerEpoch: Math.max(1, Math.ceil((rows * assumed.copiesPerItem) / assumed.rolloutsPerStep)),
  };
}

function seconds(timesMs: readonly number[]): number | null {
  const middle = mean(timesMs);
  return middle === null ? null : middle / 1000;
}
