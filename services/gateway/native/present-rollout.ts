import { failureRow } from '#src/failure/codes.ts';
import type { Verdict } from '#src/failure/verdict.ts';
import type { PlaceInLine } from '#src/ports/fleet/claims.ts';
import type { CallSummary, RolloutRecord } from '#src/ports/fleet/records.ts';
import type { RolloutAnswer, RolloutLine, VerdictStoryAnswer } from '#src/protocol/native/rollouts.ts';
import { shownFields } from '#src/protocol/rollout/fields.ts';
import { explain, type Explanation } from '#src/reports/explanation.ts';
import { blameOfCall, type CallStory, type RolloutStory } from '#src/reports/rollout-story.ts';
import type { RolloutView } from '../core-interface.ts';

/** A rollout as the native face tells it. */
export function presentRollout(view: RolloutView): RolloutAnswer {
  return {
    ...presentLine(view.record, view.verdict),
    ahead: view.ahead,
    waiting: view.place === undefined ? null : presentPlace(view.record, view.place),
    calls: view.calls.map(presentCall),
  };
}

function presentPlace(
  { placedAtMs }: RolloutRecord,
  { ahead, lastFailure }: PlaceInLine,
): NonNullable<RolloutAnswer['waiting']> {
  return {
    since: instant(placedAtMs),
    ahead,
    last_start_failure: lastFailure && {
      code: lastFailure.code,
      message: lastFailure.message,
      count: lastFailure.alike,
      at: instant(lastFailure.atMs),
    },
  };
}

export function presentLine(record: RolloutRecord, verdict: Verdict): RolloutLine {
  return {
    rollout_id: record.owner.rollout,
    attempt: record.owner.attempt,
    run: record.owner.run,
    ...shownFields(record),
    verdict,
    taint: presentTaint(record),
    epoch: record.epoch,
    step: record.tags.step,
    labels: [...record.tags.labels],
    in_flight: record.inFlight,
  };
}

/** A discard whose state was lost. */
function presentTaint({ discarded, placedAtMs }: RolloutRecord): RolloutLine['taint'] {
  if (discarded === null || !failureRow(discarded.code).taints) return null;
  const { code, cause, evidence, atMs } = discarded;
  return { code, cause, evidence: { ...evidence }, at: instant(atMs ?? placedAtMs) };
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

/** A rollout's verdict as the native face tells it: why it is discarded, with all that fleet state knows of it. */
export function presentVerdict(view: RolloutView): VerdictStoryAnswer {
  const { record, verdict } = view;
  const explanation = explain(storyOf(view));
  return {
    rollout_id: record.owner.rollout,
    attempt: record.owner.attempt,
    run: record.owner.run,
    environment: record.environment,
    version: record.version,
    state: record.state,
    verdict,
    score: record.score,
    discard: explanation === null ? null : presentDiscard(explanation),
  };
}

function presentDiscard(explanation: Explanation): NonNullable<VerdictStoryAnswer['discard']> {
  const { what, timeline, evidence, epoch, admitted, blame, whose, told } = explanation;
  return {
    what: [...what],
    timeline: timeline.map((moment) => ({ at: new Date(moment.atMs).toISOString(), what: moment.what })),
    evidence: { ...evidence },
    epoch,
    admitted,
    blame,
    whose,
    told: [...told],
  };
}

function storyOf({ record, verdict, calls }: RolloutView): RolloutStory {
  return {
    source: 'fleet',
    rolloutId: record.owner.rollout,
    run: record.owner.run,
    attempt: record.owner.attempt,
    environment: record.environment,
    version: record.version,
    state: record.state,
    closedBy: record.closedBy,
    launchType: record.launchType,
    sandbox: record.epoch?.sandbox ?? null,
    boot: record.epoch?.boot ?? null,
    openedAtMs: record.placedAtMs,
    claimedAtMs: record.claimedAtMs,
    closedAtMs: record.closedAtMs,
    discardedAtMs: record.discarded?.atMs ?? null,
    verdict,
    score: record.score,
    voidReason: record.voidReason,
    suspected: verdict.kind === 'discard' ? (verdict.suspected ?? null) : null,
    broken: record.broken,
    evidence: record.discarded?.evidence ?? {},
    why: null,
    calls: calls.map(callStoryOf),
    // Fleet state does not keep who asked; the event log does.
    keyIds: [],
    closedByKey: null,
    missing: [],
  };
}

function callStoryOf(summary: CallSummary): CallStory {
  const { call, outcome, ...rest } = summary;
  return {
    ...rest,
    callId: call,
    outcome: outcome ?? 'running',
    blame: blameOfCall(summary),
    command: null,
    keyId: null,
  };
}
