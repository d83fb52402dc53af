import type { Blame, FailureCode } from '#src/failure/codes.ts';
import type { ItemKey, RunId, TenantId } from '#src/model/ids.ts';
import type { Outcome } from '#src/model/outcome.ts';
import type { RolloutRecord } from './records.ts';

export type GroupReport = {
  readonly item: ItemKey;
  readonly wave: number;
  readonly n: number;
  readonly scored: number;
  readonly discarded: number;
  /** Discards by blame. One that an earlier release counted has none. */
  readonly discards: Readonly<Partial<Record<Blame, number>>>;
  /** Scores that were left out: neither in `scored` nor in what follows. */
  readonly voided: number;
  readonly mean: number | null;
  readonly best: number | null;
  readonly spread: number | null;
};

export type RunReport = {
  readonly tenant: TenantId;
  readonly run: RunId;
  readonly state: 'open' | 'closed';
  readonly rollouts: number;
  /** Not closed, and not discarded either. */
  readonly open: number;
  readonly scored: number;
  readonly discarded: number;
  /** Scores that were left out. */
  readonly voided: number;
  readonly calls: Readonly<Partial<Record<Outcome, number>>>;
  readonly blame: Readonly<Partial<Record<Blame, number>>>;
  readonly codes: Readonly<Partial<Record<FailureCode, number>>>;
  /** The newest, by the start of their newest wave. */
  readonly items: readonly ItemKey[];
  /** Time of sandboxes that its rollouts held, of those that are over, by what became of them. */
  readonly sandboxMs: Readonly<Record<HeldState, number>>;
};

/** What became of a rollout, for what its sandboxes cost. */
export type HeldState = 'scored' | 'discarded' | 'ungraded';

/** Time that sandboxes of an environment have spent in a state, in the whole fleet. `ready`: and nobody's. */
export type SandboxCost = {
  readonly environment: string;
  readonly state: 'starting' | 'ready' | HeldState;
  readonly ms: number;
};

export type RolloutFilter = {
  readonly verdict?: 'scorable' | 'discard';
  readonly code?: FailureCode;
  readonly item?: ItemKey;
  readonly cursor?: string;
};

/** Reading, never deciding. */
export interface ReportStore {
  /** Of all sandboxes, up to the last change of each; a Redis that was emptied begins again. */
  cost(): Promise<readonly SandboxCost[]>;
  runs(tenant: TenantId): Promise<readonly RunId[]>;
  run(tenant: TenantId, run: RunId): Promise<RunReport | null>;
  /** Of each wave of these items; a script tells them all, so ask for few at a time. */
  groups(tenant: TenantId, run: RunId, items: readonly ItemKey[]): Promise<readonly GroupReport[]>;
  rollouts(
    tenant: TenantId,
    run: RunId,
    filter: RolloutFilter,
  ): Promise<{ readonly rollouts: readonly RolloutRecord[]; readonly cursor: string | null }>;
}
