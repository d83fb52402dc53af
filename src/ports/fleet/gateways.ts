import type { Evidence } from '#src/failure/failure.ts';
import type { Suspected } from '#src/failure/verdict.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { RolloutRecord } from './records.ts';

/**
 * `joined`: another gateway listens. `alone`: none did, and what was opened before `atMs` is to be discarded. `unsure`: one may
 * still come back; it is to be asked again, with `sinceMs`.
 */
export type Beginning =
  | { readonly kind: 'joined' }
  | { readonly kind: 'alone'; readonly atMs: number }
  | { readonly kind: 'unsure'; readonly sinceMs: number };

/**
 * Gateway processes among each other, each by its name, which no other process ever has. Only for rollouts of E2B's clients, which
 * cannot tell a request that was lost from what the policy did. Errors as in `claims.ts`; what is returned was discarded here.
 */
export interface GatewayStore {
  /** From now on fleet state sees that this process is there, until its connection ends. Requests wait until it has begun. */
  appear(gateway: string): Promise<void>;
  /** `sinceMs`: of the first answer, if this is not the first time. */
  begin(gateway: string, sinceMs?: number): Promise<Beginning>;
  /** Discards a portion of what was opened before this moment; `cursor` null: that was the last one. */
  sweep(
    cursor: string | null,
    beforeMs: number,
  ): Promise<{ readonly cursor: string | null; readonly lost: readonly RolloutRecord[] }>;
  /** It listens. Discards the rollouts whose requests were in the hands of gateways that are gone. */
  keep(gateway: string): Promise<readonly RolloutRecord[]>;
  /** It has a request in hand. Throws `recovering` while one before it may have been lost. */
  enter(gateway: string, request: string, rollout: RolloutKey): Promise<void>;
  /** Its client has the answer, or has left. */
  leave(gateway: string, request: string, rollout: RolloutKey): Promise<void>;
  /** Its client did not get an answer that says what happened. `suspected`: the policy may have done it. Null: nothing was discarded. */
  lose(rollout: RolloutKey, evidence: Evidence, suspected: Suspected | null): Promise<RolloutRecord | null>;
  /** It has left in order. */
  end(gateway: string): Promise<void>;
}
