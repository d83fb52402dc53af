import type { Dependency } from '#src/model/dependency.ts';
import type { RolloutKey } from '#src/model/rollout.ts';

/** Tools of all environments that have both in common share the turns and results. */
export type Probed = Pick<Dependency, 'probe' | 'everyMs'>;

/** Times are Redis' own clock. `failed`: why; null: it was good. */
export type ProbeResult = {
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly failed: string | null;
};

/** What is known of a backend. */
export type ProbeRecord = {
  readonly nowMs: number;
  /** By their begin. */
  readonly results: readonly ProbeResult[];
  /** When a probe last was good; null: not within a day. */
  readonly goodAtMs: number | null;
  /** Calls of tools with this probe in the last one to two minutes: of the rollout's run, and of all. */
  readonly load: { readonly ofRun: number; readonly ofAll: number };
  /** Since when this Redis holds the fleet; what was probed before may be forgotten. Null: it has forgotten nothing for a day. */
  readonly recoveredAtMs: number | null;
};

/** `isMine`: the asker is to probe now. */
export type ProbeTurn = { readonly isMine: boolean; readonly nowMs: number; readonly nextInMs: number };

/** Probes of backends, made in turns by all gateways. One script a method; errors as in `claims.ts`. */
export interface DependencyStore {
  /** Counts a call of a tool with this probe. */
  count(probed: Probed, rollout: RolloutKey): Promise<void>;
  /** One asker in each interval gets the turn. */
  takeTurn(probed: Probed): Promise<ProbeTurn>;
  /** Records how the probe ended that began at `beganAtMs`; it ended now. */
  record(probed: Probed, beganAtMs: number, failed: string | null): Promise<void>;
  /** Results that ended at `sinceMs` or later, and the rest that is known. */
  read(probed: Probed, rollout: RolloutKey, sinceMs: number): Promise<ProbeRecord>;
}
