import type { RolloutAnswer, RolloutLine } from '#src/protocol/native/rollouts.ts';
import { shownFields } from '#src/protocol/rollout/fields.ts';
import type { CallSummary, RolloutRecord } from '#src/ports/fleet/records.ts';
import type { Verdict } from '#src/failure/verdict.ts';
import type { RolloutView } from '../core-interface.ts';

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
    ...shownFields(record),
    verdict,
    taint: presentTaint(record.taint),
    epoch: record.epoch,
    step: record.tags.step,
    labels: [...record.tags.labels],
    in_flight: record.inFlight,
  };
}

function presentTaint(taint: RolloutRecord['taint']): RolloutLine['taint'] {
  if (taint === null) return null;
  return { code: taint.code, cause: taint.cause, evidence: { ...taint.evidence }, at: instant(taint.atMs) };
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
