import type { Static } from 'typebox';
import { failureCodes, failureRow } from '../../src/failure/codes.ts';
import type { FailureCode } from '../../src/failure/codes.ts';
import type { Verdict } from '../../src/failure/verdict.ts';
import type { RolloutAnswer, RolloutLine } from '../../src/protocol/native/rollouts.ts';
import { blameOf } from './story.ts';
import type { CallStory, RolloutStory } from './story.ts';

type AnsweredCall = Static<typeof RolloutAnswer>['calls'][number];

/** The story as the fleet tells it now. */
export function storyOfAnswer(answer: RolloutAnswer): RolloutStory {
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
    verdict: verdictOf(answer.verdict),
    score: answer.score,
    evidence: answer.taint?.evidence ?? {},
    calls: answer.calls.map(callStory).sort((a, b) => a.startedAtMs - b.startedAtMs),
  };
}

function callStory(call: AnsweredCall): CallStory {
  const code = call.code === null ? null : knownCode(call.code);
  return {
    callId: call.call_id,
    tool: call.tool,
    startedAtMs: Date.parse(call.started_at),
    outcome: call.outcome ?? 'running',
    code: call.code,
    blame: blameOf(call.outcome, call.exit_code, code === null ? null : failureRow(code).blame),
    exitCode: call.exit_code,
    durationMs: call.duration_ms,
    waitedMs: call.waited_ms,
    outputBytes: call.output_bytes,
    command: null,
  };
}

function verdictOf(verdict: RolloutLine['verdict']): Verdict {
  if (verdict.kind === 'scorable') return { kind: 'scorable' };
  const cause = verdict.cause === undefined ? {} : { cause: verdict.cause };
  // A newer gateway may know a code that this program does not: nobody here classified it.
  return { kind: 'discard', code: knownCode(verdict.code) ?? 'unclassified', ...cause };
}

function knownCode(text: string): FailureCode | null {
  return failureCodes.find((code) => code === text) ?? null;
}
