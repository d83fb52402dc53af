import type { FailureCode, LossCause } from './codes.ts';
import { type Suspected, suspectedOf } from './suspected.ts';

/** What the trainer may do with a rollout. `discard` names the one code that decided, and the cause where known. */
export type Verdict =
  | { readonly kind: 'scorable' }
  | {
      readonly kind: 'discard';
      readonly code: FailureCode;
      readonly cause?: string;
      /** It cannot be told whether the policy's command or answer did it. */
      readonly suspected?: Suspected;
    };

/** The verdict of a taint: what happened to the rollout's sandbox, and whether its own command may have done it. */
export function discardFor(
  code: FailureCode,
  cause: LossCause | null,
): Extract<Verdict, { kind: 'discard' }> {
  const suspected = suspectedOf(code, cause);
  return {
    kind: 'discard',
    code,
    ...(cause === null ? {} : { cause }),
    ...(suspected === null ? {} : { suspected }),
  };
}
