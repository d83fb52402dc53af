import { type Blame, blameOf } from '../failure/codes.ts';
import type { Evidence } from '../failure/failure.ts';
import type { Suspected, Verdict } from '../failure/verdict.ts';
import type { ToldWhy } from '../ports/event-log.ts';

/** Where a report comes from: the fleet's own state, or the event log when that has forgotten or does not run. */
export type Source = 'fleet' | 'event log';

export type CallStory = {
  readonly callId: string;
  readonly tool: string;
  readonly startedAtMs: number;
  /** `running`, or the outcome. */
  readonly outcome: string;
  readonly code: string | null;
  /** Whether it may have run: `yes`, `no` or `unknown`. */
  readonly admitted: string;
  /** Whose failure; null when it is none. */
  readonly blame: Blame | null;
  readonly exitCode: number | null;
  readonly durationMs: number | null;
  readonly waitedMs: number;
  readonly outputBytes: number;
  /** What was run, where the source knows it. */
  readonly command: string | null;
  /** Whose API key asked for it, where the source knows it: the public id. */
  readonly keyId: string | null;
};

/** Somebody who logged, or may have logged, more of a story than was told. */
export type Missing = {
  readonly keeper: string;
  /** When a process of the fleet was last heard of; null: it is none. */
  readonly heardAtMs: number | null;
  readonly told: 'some' | 'nothing';
  readonly why: string;
};

/** One rollout, call by call, as far as its source knows it. */
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
  /** Which life of the sandbox ran its calls. */
  readonly boot: string | null;
  readonly openedAtMs: number | null;
  readonly claimedAtMs: number | null;
  readonly closedAtMs: number | null;
  /** When it became certain that it can never be scored; null where it can, or nobody wrote it down. */
  readonly discardedAtMs: number | null;
  /** Null while nobody has decided. */
  readonly verdict: Verdict | null;
  readonly score: number | null;
  /** Why a caller took it out of its run; null: none did. */
  readonly voidReason: string | null;
  /** A command may have broken the sandbox or the grader; also of a rollout that was scored all the same. */
  readonly suspected: Suspected | null;
  /** The policy broke its own sandbox, and how: its own failure, and no discard. */
  readonly broken: string | null;
  readonly evidence: Evidence;
  /** Why its score is what it is; only the event log knows. */
  readonly why: ToldWhy | null;
  readonly calls: readonly CallStory[];
  /** Keys that acted on it, the first first; empty where the source knows none. */
  readonly keyIds: readonly string[];
  /** Whose key ended it by a request, where the source knows it. */
  readonly closedByKey: string | null;
  readonly missing: readonly Missing[];
};

/**
 * Whose failure a settled call is told to be. Where we failed its code says it; else it is the model's own, as are a command's
 * exit code, time and arguments.
 */
export function blameOfCall({
  outcome,
  code,
  exitCode,
}: Pick<CallStory, 'code' | 'exitCode'> & { readonly outcome: string | null }): Blame | null {
  if (outcome === 'infrastructure_failure') return blameOf(code) ?? 'infrastructure';
  if (code !== null || outcome === 'timed_out' || outcome === 'refused') return 'model';
  return exitCode !== null && exitCode !== 0 ? 'model' : null;
}

/** How a call ended, in a few words. */
export function endOf({ outcome, code, exitCode, durationMs }: CallStory): string {
  const how =
    code === null ? (exitCode === null ? outcome : `${outcome}, exit ${exitCode}`) : `${outcome}: ${code}`;
  return durationMs === null ? how : `${how} after ${durationMs} ms`;
}

/** The command that ran last, or was running when the end came; null where the source knows none. */
export function lastCommandOf({ calls }: Pick<RolloutStory, 'calls'>): string | null {
  return calls.findLast(({ command }) => command !== null)?.command ?? null;
}
