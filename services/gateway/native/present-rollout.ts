import type { RolloutAnswer, RolloutLine } from '#src/protocol/native/rollouts.ts';
import type { CallSummary, RolloutRecord } from '#src/ports/fleet/records.ts';
import type { Verdict } from '#src/failure/verdict.ts';
import type { RolloutView } from '../core.ts';

/** A rollout as the native face tells it. */
export function presentRollout(view: RolloutView): RolloutAnswer {
  return {
    ...presentLine(view.record, view.verdict),
    ahead: view.ahead,
    calls: view.calls.map(presentCall),
  };
}

export function presentLine(record: RolloutRecord, verdict: Verdict): RolloutLine {
  return {
    rollout_id: record.owner.rollout,
    attempt: record.owner.attempt,
    run: record.owner.run,
    environment: record.environment,
    version: record.version,
    face: record.face,
    state: record.state,
    verdict,
    taint: presentTaint(record.taint),
    broken: record.broken,
    score: record.score,
    item_key: record.itemKey,
    wave: record.wave,
    step: record.tags.step,
    labels: [...record.tags.labels],
    launch_type: record.launchType,
    epoch: record.epoch,
    call_count: record.calls,
    in_flight: record.inFlight,
    ...presentTimes(record),
    closed_by: record.closedBy,
  };
}

function presentTaint(taint: RolloutRecord['taint']): RolloutLine['taint'] {
  if (taint === null) return null;
  return { code: taint.code, cause: taint.cause, evidence: { ...taint.evidence }, at: instant(taint.atMs) };
}

function presentTimes(record: RolloutRecord) {
  return {
    placed_at: instant(record.placedAtMs),
    claimed_at: instantOrNull(record.claimedAtMs),
    active_at: instantOrNull(record.activeAtMs),
    closed_at: instantOrNull(record.closedAtMs),
    lease_until: instant(record.leaseUntilMs),
  };
}

function presentCall(call: CallSummary): RolloutAnswer['calls'][number] {
  return {
    call_id: call.call,
    tool: call.tool,
    state: call.state,
    outcome: call.outcome,
    code: call.code,
    admitted: call.admitted,
    exit_code: call.exitCode,
    started_at: instant(call.startedAtMs),
    duration_ms: call.durationMs,
    waited_ms: call.waitedMs,
    output_bytes: call.outputBytes,
    sandbox: call.sandbox,
  };
}

const instant = (atMs: number): string => new Date(atMs).toISOString();
const instantOrNull = (atMs: number | null): string | null => (atMs === null ? null : instant(atMs));
