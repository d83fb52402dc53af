import type { FailureCode, LossCause } from '../failure/codes.ts';
import type { EnvironmentName } from '../model/ids.ts';
import type { LossEffect } from './fleet/lifecycle.ts';
import type { TemplateCounts } from './fleet/pool.ts';

/**
 * `cold`: a rollout was waiting and got the sandbox at once; `warm`: it went into the pool; `failed`: nobody got it.
 */
export type LaunchEnd =
  | { readonly type: 'warm' | 'cold'; readonly result: 'ready' }
  | { readonly type: 'failed'; readonly result: FailureCode };

/** Why a sandbox that nobody asked to destroy was destroyed by the comparison with the provider's list. */
export type GarbageReason = 'unbound' | 'rollout_ended' | 'never_answered';

/** The controller's loops, by the names under which they run. */
export const loopNames = [
  'recover',
  'unsure',
  'plans',
  'supply',
  'jobs',
  'pools',
  'work',
  'watch',
  'doubts',
  'losses',
  'leaving',
  'drain',
  'overdue',
  'garbage',
  'retire',
  'expire',
  'overdue calls',
  'grants',
  'runs',
  'labels',
  'memory',
] as const;

export type LoopName = (typeof loopNames)[number];

/** The pool of a template as the fleet has it, and the names by which people know it. */
export type FleetPool = TemplateCounts & {
  readonly environments: readonly EnvironmentName[];
  readonly minReady: number;
  readonly max: number;
};

/** What the controller counts, in the domain's own words. Durations in milliseconds; nothing here throws. */
export interface Metrics {
  launchEnded(end: LaunchEnd, durationMs: number): void;
  poolCounted(pools: readonly FleetPool[]): void;
  /** Sandboxes that start now, and how many may. */
  startsCounted(used: number, limit: number): void;
  /** Sandboxes of rollouts that this controller has not yet labelled. */
  ownersUnlabelled(count: number): void;
  sandboxLost(cause: LossCause, effect: LossEffect['kind']): void;
  sandboxDestroyed(): void;
  garbageFound(reason: GarbageReason): void;
  rolloutsExpired(count: number): void;
  grantsTakenBack(count: number): void;
  loopFailed(loop: LoopName, code: FailureCode): void;
}
