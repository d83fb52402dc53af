import type { ItemKey, RunId, TenantId } from '../model/ids.ts';
import type { RolloutKey } from '../model/rollout.ts';
import type { Clock } from '../ports/clock.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { LifecycleStore } from '../ports/fleet/lifecycle.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import type { ReportStore } from '../ports/fleet/reports.ts';

/*
 * Voiding takes rollouts out of a run because their task or their run was wrong: a broken item, a leaked answer.
 *
 *   without a score   discarded as `voided`, blame caller; an open one is closed, and what runs is stopped
 *   scored            the score stays as the trainer got it; reports, means and regrades leave it out
 *   discarded, or ended by its trainer without a score: nothing changes
 */

export type VoidDeps = {
  readonly lifecycle: Pick<LifecycleStore, 'void'>;
  readonly reports: Pick<ReportStore, 'rollouts'>;
  readonly record: (event: FleetEvent) => void;
  readonly clock: Pick<Clock, 'nowMs'>;
};

/** `keyId`: whose API key asks, for the audit. */
export type VoidReason = { readonly reason: string; readonly keyId: string | null };

export type Voided = { readonly changed: boolean; readonly rollout: RolloutRecord };

/** Voids one rollout; null if it is unknown. Once is enough: a second time changes nothing. */
export async function voidRollout(
  { lifecycle, record, clock }: Omit<VoidDeps, 'reports'>,
  key: RolloutKey,
  { reason, keyId }: VoidReason,
): Promise<Voided | null> {
  const voided = await lifecycle.void(key, reason);
  if (voided?.changed === true) {
    const { environment, version, score } = voided.rollout;
    record({ kind: 'rollout_voided', atMs: clock.nowMs(), key, keyId, environment, version, reason, score });
  }
  return voided;
}

/** What became of the rollouts of one page; `cursor`: where the next page begins, null at the end. */
export type VoidedPage = {
  readonly discarded: number;
  readonly scored: number;
  readonly unchanged: number;
  readonly cursor: string | null;
};

/** Voids the rollouts of an item that the run has now, a page at a time; rollouts that open later are not voided. */
export async function voidItem(
  deps: VoidDeps,
  of: { readonly tenant: TenantId; readonly run: RunId; readonly item: ItemKey; readonly cursor?: string },
  why: VoidReason,
): Promise<VoidedPage> {
  const { tenant, run, item, cursor } = of;
  const page = await deps.reports.rollouts(tenant, run, { item, ...(cursor !== undefined && { cursor }) });
  const counts = { discarded: 0, scored: 0, unchanged: 0 };
  for (const { key } of page.rollouts) {
    const voided = await voidRollout(deps, key, why);
    if (voided?.changed !== true) counts.unchanged += 1;
    else if (voided.rollout.verdict === 'scored') counts.scored += 1;
    else counts.discarded += 1;
  }
  return { ...counts, cursor: page.cursor };
}
