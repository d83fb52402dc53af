import type { Evidence } from '#src/failure/failure.ts';
import type { RolloutKey } from '#src/model/rollout.ts';

/** A guarded judge of an environment's version, in one run: `name` tells the judges of a version apart. */
export type Guarded = {
  readonly rollout: RolloutKey;
  readonly name: string;
  /** Grades between two checks. */
  readonly everyGrades: number;
};

/** A grade takes a ticket once its judge has answered; so many tickets share one check. */
export type GuardWord =
  /** The judge was checked, and the grade counts as answered from now on. */
  | { readonly kind: 'pass'; readonly ticket: number }
  /** The asker is to ask the canaries, and to say what came of it. */
  | { readonly kind: 'check'; readonly ticket: number }
  /** Another one does. */
  | { readonly kind: 'wait'; readonly ticket: number }
  /** A canary was wrong before this grade was answered. */
  | { readonly kind: 'suspect'; readonly ticket: number; readonly evidence: Evidence };

/** `wrong`: what was seen. */
export type CheckEnd =
  | { readonly kind: 'right' }
  | { readonly kind: 'wrong'; readonly evidence: Evidence }
  | { readonly kind: 'no_evidence' };

/** What gateways know together of the judges that they guard. One script a method; errors as in `claims.ts`. */
export interface GuardStore {
  /** `ticket`: the one that it was given before; null: it has none. `leaseMs`: how long a check may take. */
  ask(
    guarded: Guarded,
    asker: { readonly ticket: number | null; readonly by: string; readonly leaseMs: number },
  ): Promise<GuardWord>;
  /** How the check ended that the holder of this ticket made. */
  conclude(guarded: Guarded, ticket: number, end: CheckEnd): Promise<void>;
}
