import type { Static } from 'typebox';
import { failureCodes } from '../../src/failure/codes.ts';
import type { FailureCode } from '../../src/failure/codes.ts';
import type { Verdict } from '../../src/failure/verdict.ts';
import type { RolloutAnswer, RolloutLine } from '../../src/protocol/native/rollouts.ts';
import { blameOf } from '../../src/reports/rollout-story.ts';
import type { CallStory, RolloutStory } from '../../src/reports/rollout-story.ts';

type AnsweredCall = Static<typeof RolloutAnswer>['calls'][number];

/** The story as the fleet tells it now. */
export function storyOfAnswer(answer: RolloutAnswer): RolloutStory {
  const verdict = verdictOf(answer.verdict);
  return {
    source: 'fleet',
    rolloutId: answer.rollout_id,
    run: answer.run,
    attempt: answer.attempt,
    environment: answer.environment,
    version: answer.version,
    state: answer.state,
    closedBy: answer.closed_by,
    launchType: answer.launch_type,
    sandbox: answer.epoch?.sandbox ?? null,
    boot: answer.epoch?.boot ?? null,
    openedAtMs: Date.parse(answer.placed_at),
    claimedAtMs: atMsOf(answer.claimed_at),
    closedAtMs: atMsOf(answer.closed_at),
    discardedAtMs: atMsOf(answer.taint?.at ?? null),
    verdict,
    score: answer.score,
    suspected: verdict.kind === 'discard' ? (verdict.suspected ?? null) : null,
    broken: answer.broken,
    evidence: answer.taint?.evidence ?? {},
    calls: answer.calls.map(callStory).sort((a, b) => a.startedAtMs - b.startedAtMs),
    keyIds: [],
    closedByKey: null,
    missing: [],
  };
}

const atMsOf = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));

function callStory(call: AnsweredCall): CallStory {
  return {
    callId: call.call_id,
    tool: call.tool,
    startedAtMs: Date.parse(call.started_at),
    outcome: call.outcome ?? 'running',
    code: call.code,
    admitted: call.admitted,
    blame: blameOf({ outcome: call.outcome, code: call.code, exitCode: call.exit_code }),
    exitCode: call.exit_code,
    durationMs: call.duration_ms,
    waitedMs: call.waited_ms,
    outputBytes: call.output_bytes,
    command: null,
    keyId: null,
  };
}

function verdictOf(verdict: RolloutLine['verdict']): Verdict {
  if (verdict.kind === 'scorable') return { kind: 'scorable' };
  const { kind: _kind, code, ...known } = verdict;
  // A newer gateway may know a code that this program does not: nobody here classified it.
  return { kind: 'discard', code: knownCode(code) ?? 'unclassified', ...known };
}

function knownCode(text: string): FailureCode | null {
  return failureCodes.find((code) => code === text) ?? null;
}
