import type { Ending } from '#demo/trainer/record.ts';
import type { Mischief } from './evidence.ts';

/** All that the trainer knows of one rollout when it is over. Times are milliseconds since the load test began. */
export type RolloutTruth = {
  readonly rollout: string;
  readonly group: string;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly calls: readonly CallTruth[];
  /** `cancelled`: the trainer gave it up before the grade. */
  readonly ending: Ending | { readonly kind: 'cancelled' };
};

export type CallTruth = {
  /** All ids that it was sent under; more than one where a retry carries a new one. */
  readonly ids: readonly string[];
  readonly mischief: Mischief | null;
  readonly sentMs: number;
  readonly endedMs: number;
  /** What the policy was shown; null when the platform gave up. */
  readonly shown: string | null;
  /** It was shown a body that is no function output: a 4xx, most of all a 413. */
  readonly leaked: boolean;
};
