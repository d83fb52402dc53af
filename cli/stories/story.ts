import type { Blame } from '../../src/failure/codes.ts';
import type { Evidence } from '../../src/failure/failure.ts';
import type { Verdict } from '../../src/failure/verdict.ts';

/** Where a report comes from: the fleet's own state, or the event log when that has forgotten or does not run. */
export type Source = 'fleet' | 'event log';

export type CallStory = {
  readonly callId: string;
  readonly tool: string;
  readonly startedAtMs: number;
  /** `running`, or the outcome. */
  readonly outcome: string;
  readonly code: string | null;
  /** Whose failure; null when it is none. */
  readonly blame: Blame | null;
  readonly exitCode: number | null;
  readonly durationMs: number | null;
  readonly waitedMs: number;
  readonly outputBytes: number;
  /** What was run, where the source knows it. */
  readonly command: string | null;
};

/** One rollout, call by call. */
export type RolloutStory = {
  readonly source: Source;
  readonly rolloutId: string;
  readonly run: string;
  readonly attempt: number;
  readonly environment: string;
  readonly version: string;
  /** Null where only the event log is left. */
  readonly state: string | null;
  readonly closedBy: string | null;
  readonly launchType: string | null;
  readonly sandbox: string | null;
  /** Null while nobody has decided. */
  readonly verdict: Verdict | null;
  readonly score: number | null;
  readonly evidence: Evidence;
  readonly calls: readonly CallStory[];
};

/** Whose failure a settled call is. A command's own exit code, time or arguments are the model's. */
export function blameOf(
  outcome: string | null,
  exitCode: number | null,
  tableBlame: Blame | null,
): Blame | null {
  if (outcome === 'infrastructure_failure') return tableBlame ?? 'infrastructure';
  if (outcome === 'timed_out' || outcome === 'refused') return 'model';
  return exitCode !== null && exitCode !== 0 ? 'model' : null;
}
