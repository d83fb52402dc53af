import type { EnvironmentVersion, TenantId } from '#src/model/ids.ts';
import type { TaskDigest } from '#src/model/requirements.ts';

/** A task in a version of an environment; tenants do not see each other's. */
export type ControlKey = {
  readonly tenant: TenantId;
  readonly version: EnvironmentVersion;
  readonly task: TaskDigest;
};

/**
 * What runs without a policy showed of a task: `proven`, nop left a reward and the task's own solution its full reward;
 * `unproven`, nop left a reward and there is no solution; `refused`, one of them failed twice.
 */
export type Standing = {
  readonly standing: 'proven' | 'unproven' | 'refused';
  /** Why it is refused: the end of what the verifier printed. */
  readonly reason?: string;
  /** How long the verifier took after the solution. */
  readonly verifierTookMs?: number;
};

/** `play`: the asker holds the lease and is to find the standing; `wait`: another one does. */
export type ControlReply = Standing | { readonly standing: 'play' | 'wait' };

/** One script a method; errors as in `claims.ts`. Kept for 7 days after the last question. */
export interface ControlStore {
  standing(key: ControlKey): Promise<Standing | null>;
  /** The same holder asks again to renew its lease. `again`: what is recorded is forgotten and found again. */
  ask(key: ControlKey, holder: string, leaseMs: number, again: boolean): Promise<ControlReply>;
  /** Null: a control was lost or ran out of time, which is not evidence; the lease is given back. */
  conclude(key: ControlKey, holder: string, found: Standing | null): Promise<ControlReply>;
}
