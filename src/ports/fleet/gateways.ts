import type { Evidence } from '#src/failure/failure.ts';
import type { RolloutKey } from '#src/model/rollout.ts';
import type { RolloutRecord } from './records.ts';

/**
 * `joined`: another gateway listens. `alone`: none did, and what was opened before `atMs` must be discarded. `unsure`: one may
 * still come back; ask again.
 */
export type Beginning = { readonly kind: 'joined' | 'alone' | 'unsure'; readonly atMs: number };

/** `isForgotten`: fleet state knew nothing of this gateway, and learns what it has in hand from the next `keep`. */
export type Kept = { readonly isForgotten: boolean; readonly lost: readonly RolloutRecord[] };

/** `inHand`: the rollouts for which a gateway has requests in hand, if fleet state may be wrong about that. */
export type Word = {
  readonly inHand?: readonly RolloutKey[] | undefined;
  /** For how long it has been leaving. */
  readonly leavingMs?: number | undefined;
};

/**
 * Gateway processes among each other, each by its name, which no other process ever has. Only for rollouts of E2B's clients, which
 * cannot tell a request that was lost from what the policy did. Errors as in `claims.ts`; what is returned was discarded here.
 */
export interface GatewayStore {
  /** From now on fleet state sees that this process is there, until its connection ends. */
  appear(gateway: string): Promise<void>;
  /** `openMs`: for how long its port has been open. */
  begin(gateway: string, openMs: number): Promise<Beginning>;
  /** Discards a portion of what was opened before this moment; `cursor` null: that was the last one. */
  sweep(
    cursor: string | null,
    beforeMs: number,
  ): Promise<{ readonly cursor: string | null; readonly lost: readonly RolloutRecord[] }>;
  /** It listens, or leaves. Discards the rollouts for which gateways that are gone had requests in hand. */
  keep(gateway: string, word?: Word): Promise<Kept>;
  /** It has a request in hand. Throws `recovering` while one before it may have been lost. */
  enter(gateway: string, rollout: RolloutKey): Promise<void>;
  /** It has no request for this rollout in hand any more. */
  leave(gateway: string, rollout: RolloutKey): Promise<void>;
  /** A client did not get an answer that says what happened. Null: nothing was discarded. */
  lose(rollout: RolloutKey, evidence: Evidence): Promise<RolloutRecord | null>;
  /** It has left in order. */
  end(gateway: string): Promise<void>;
}
