import type { LossCause } from '#src/failure/codes.ts';
import type { Evidence } from '#src/failure/failure.ts';
import type { BootId, RunId, SandboxId, TemplateDigest, TenantId } from '#src/model/ids.ts';
import type { RolloutRecord } from './records.ts';
import type { RolloutKey } from '#src/model/rollout.ts';

export type LossEffect =
  /** Nobody's sandbox, or already known. */
  | { readonly kind: 'none' }
  /** Before its first dispatched call: the rollout is back at the head of its line. */
  | { readonly kind: 'swapped'; readonly rollout: RolloutRecord }
  /** After it: final. Calls in flight were settled as infrastructure failures. */
  | { readonly kind: 'tainted'; readonly rollout: RolloutRecord }
  /** Calls ran, and the cause says that they did it: the model's own failure, final, and still scorable. */
  | { readonly kind: 'broken'; readonly rollout: RolloutRecord };

/** Ends of rollouts, runs and sandboxes. One script a method; errors as in `claims.ts`. */
export interface LifecycleStore {
  /**
   * The one door of loss. `boot` null: whichever life it was. Whether the policy did it follows from cause and evidence, by
   * `brokenBy` (failure/codes.ts), whoever says it.
   */
  lose(sandbox: SandboxId, boot: BootId | null, cause: LossCause, evidence: Evidence): Promise<LossEffect>;
  /** Finish or delete wins: closes it, settles what runs as `cancelled`, sends the sandbox to draining. Null: unknown rollout. */
  close(key: RolloutKey, by: 'finished' | 'deleted'): Promise<RolloutRecord | null>;
  /**
   * Its task cannot run here: closed and discarded as `requirements_unmet`. Null: nothing was changed, because it is unknown or
   * over, or has a score or a discard.
   */
  refuse(key: RolloutKey, unmet: Evidence): Promise<RolloutRecord | null>;
  /**
   * A caller takes it out of its run. Without a score it is discarded as `voided`, and closed; its score, if it has one, stays as it
   * was reported, and leaves the sums of the run. `changed` false: it was voided or discarded before, or ended without a score.
   * `reason`: at most 200 characters. Null: unknown rollout.
   */
  void(
    key: RolloutKey,
    reason: string,
  ): Promise<{ readonly changed: boolean; readonly rollout: RolloutRecord } | null>;
  /**
   * Whether another sandbox of the template has shown the same within ten minutes; `what` is any text. A sandbox that shows it
   * twice counts once.
   */
  showsAgain(template: TemplateDigest, what: string, sandbox: SandboxId): Promise<boolean>;
  /** Renews the rollout's lease; native face. */
  heartbeat(key: RolloutKey): Promise<RolloutRecord | null>;
  /**
   * Its sandbox does not serve it. If the rollout expires like that and its policy may have caused it, the discard is marked, as it is if
   * a call of it was not taken. A call that is answered later takes this back.
   */
  unserved(key: RolloutKey): Promise<void>;
  /** Closes at most `limit` rollouts whose lease has passed with nothing dispatched or being graded, or whose hard life is over. */
  expireDue(limit: number): Promise<readonly RolloutRecord[]>;
  /** Takes back grants that were not dispatched within `afterMs`; their rollouts keep their place. Returns how many. */
  takeBackGrants(afterMs: number): Promise<number>;
  heartbeatRun(tenant: TenantId, run: RunId): Promise<boolean>;
  /** Closes a run: at most `limit` of its rollouts a call; returns how many are left. */
  closeRun(tenant: TenantId, run: RunId, limit: number): Promise<number>;
  /** Native runs whose lease lapsed. */
  lapsedRuns(limit: number): Promise<readonly { readonly tenant: TenantId; readonly run: RunId }[]>;
  /** Closes at most `limit` native rollouts of a run whose lease is over still; returns how many are left. */
  releaseLapsed(tenant: TenantId, run: RunId, limit: number): Promise<number>;
  /**
   * A gateway reaches fleet state; to be said every second. While none does, nothing ends because its caller was silent.
   * `silentMs`: how long this gateway did not reach it, for fleet state that has forgotten. Returns the milliseconds that
   * were given back to all callers, because nobody had said so for so long.
   */
  keepContact(silentMs: number): Promise<number>;
}
