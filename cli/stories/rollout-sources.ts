import type { Static } from 'typebox';
import { type FailureCode, failureCodes } from '#src/failure/codes.ts';
import type { Verdict } from '#src/failure/verdict.ts';
import { ownerOf, type RolloutKey } from '#src/model/rollout.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import type { RolloutAnswer, RolloutLine } from '#src/protocol/native/rollouts.ts';
import { blameOfCall, type CallStory, type Missing, type RolloutStory } from '#src/reports/rollout-story.ts';

/*
 * One rollout's story has two sources: the fleet's answer, as long as it remembers, and the event log, which alone knows the
 * commands and outlives fleet state. Each is made into the same story; `withLog` tells the first with what only the second knows.
 */

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
    voidReason: answer.void_reason,
    suspected: verdict.kind === 'discard' ? (verdict.suspected ?? null) : null,
    broken: answer.broken,
    evidence: answer.taint?.evidence ?? {},
    why: null,
    calls: answer.calls.map(answeredCall).sort((a, b) => a.startedAtMs - b.startedAtMs),
    keyIds: [],
    closedByKey: null,
    missing: [],
  };
}

const atMsOf = (instant: string | null): number | null => (instant === null ? null : Date.parse(instant));

function answeredCall(call: AnsweredCall): CallStory {
  return {
    callId: call.call_id,
    tool: call.tool,
    startedAtMs: Date.parse(call.started_at),
    outcome: call.outcome ?? 'running',
    code: call.code,
    admitted: call.admitted,
    blame: blameOfCall({ outcome: call.outcome, code: call.code, exitCode: call.exit_code }),
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
  // A newer gateway may return a code that this program does not know.
  return { kind: 'discard', code: knownCode(code) ?? 'unclassified', ...known };
}

function knownCode(text: string): FailureCode | null {
  return failureCodes.find((code) => code === text) ?? null;
}

type CallSettled = Extract<RolloutEvent, { kind: 'call_settled' }>;
type LostCommand = Extract<RolloutEvent, { kind: 'lost_command' }>;
type VerdictReached = Extract<RolloutEvent, { kind: 'verdict' }>;

/** Every rollout that the event log tells of, in the order of their first events. */
export function storiesOfEvents(events: readonly RolloutEvent[]): readonly RolloutStory[] {
  // Each process has files of its own, so the lines of one rollout come from several.
  const inTime = events.toSorted((one, other) => one.atMs - other.atMs);
  return [...Map.groupBy(inTime, ({ key }) => key)].map(([key, own]) => storyOfEvents(key, own));
}

function storyOfEvents(key: RolloutKey, events: readonly RolloutEvent[]): RolloutStory {
  const owner = ownerOf(key);
  const settled = events.filter((event) => event.kind === 'call_settled');
  const sent = events.filter((event) => event.kind === 'lost_command');
  const calls = settled.map((event) =>
    settledCall(
      event,
      sent.find(({ call }) => call === event.summary.call),
    ),
  );
  const verdict = events.findLast((event) => event.kind === 'verdict');
  const closed = events.find((event) => event.kind === 'rollout_closed');
  const latest = events.at(-1);
  const epoch = settled.findLast((event) => event.epoch !== null)?.epoch ?? null;
  return {
    source: 'event log',
    rolloutId: owner.rollout,
    run: owner.run,
    attempt: owner.attempt,
    environment: latest?.environment ?? '',
    version: latest?.version ?? '',
    state: null,
    closedBy: closed?.by ?? null,
    launchType: null,
    sandbox: epoch?.sandbox ?? null,
    boot: epoch?.boot ?? null,
    openedAtMs: null,
    claimedAtMs: null,
    closedAtMs: closed?.atMs ?? null,
    discardedAtMs: verdict?.verdict.kind === 'discard' ? verdict.atMs : null,
    verdict: verdict?.verdict ?? null,
    score: verdict?.score ?? null,
    voidReason: events.find((event) => event.kind === 'rollout_voided')?.reason ?? null,
    suspected: verdict?.suspected ?? null,
    broken: null,
    evidence: evidenceOf(settled, verdict),
    why: verdict?.why ?? null,
    calls: calls.toSorted((one, other) => one.startedAtMs - other.startedAtMs),
    keyIds: [...new Set(events.flatMap(({ keyId }) => keyId ?? []))],
    closedByKey: closed?.keyId ?? null,
    missing: [],
  };
}

/** What decided: the verdict's own evidence, else that of the call which failed. */
function evidenceOf(calls: readonly CallSettled[], verdict: VerdictReached | undefined) {
  const failed = calls.find(({ summary }) => summary.outcome === 'infrastructure_failure');
  const decided = verdict === undefined || Object.keys(verdict.evidence).length === 0 ? failed : verdict;
  return decided?.evidence ?? {};
}

/** `sent`: what the gateway wrote that had sent a call which fleet state settled. */
function settledCall({ summary, lastCommand, keyId }: CallSettled, sent: LostCommand | undefined): CallStory {
  const command = lastCommand === '' ? sent?.command : lastCommand;
  return {
    callId: summary.call,
    tool: summary.tool,
    startedAtMs: summary.startedAtMs,
    outcome: summary.outcome ?? 'running',
    code: summary.code,
    admitted: summary.admitted,
    blame: blameOfCall(summary),
    exitCode: summary.exitCode,
    durationMs: summary.durationMs,
    waitedMs: summary.waitedMs,
    outputBytes: summary.outputBytes,
    command: command ?? null,
    keyId: keyId ?? sent?.keyId ?? null,
  };
}

/** What event logs tell, and who of the fleet told less than there is. */
export type ToldLog<Made> = {
  readonly told: Made;
  readonly missing: readonly Missing[];
  /** Its verdicts have their why, as far as the key may read it; otherwise they are asked for by themselves. */
  readonly hasWhy?: true;
};

/** The fleet's story of a rollout with what only the event log knows: its commands, and why its grader failed. */
export function withLog(
  story: RolloutStory,
  { told: stories, missing: all }: ToldLog<readonly RolloutStory[]>,
): RolloutStory {
  const missing = all.filter(({ heardAtMs }) => mayHaveSeen(heardAtMs, story));
  const own = stories.find(
    ({ rolloutId, run, attempt }) =>
      rolloutId === story.rolloutId && run === story.run && attempt === story.attempt,
  );
  if (own === undefined || story.source === 'event log') return { ...story, missing };
  const told = new Map(own.calls.map(({ callId, command, keyId }) => [callId, { command, keyId }]));
  const isTold = Object.keys(story.evidence).length > 0;
  return {
    ...story,
    suspected: story.suspected ?? own.suspected,
    voidReason: story.voidReason ?? own.voidReason,
    discardedAtMs: story.discardedAtMs ?? own.discardedAtMs,
    evidence: isTold || story.verdict?.kind !== 'discard' ? story.evidence : own.evidence,
    why: own.why,
    // Of a rollout that is over the fleet forgets the calls first, and where they ran.
    sandbox: story.sandbox ?? own.sandbox,
    boot: story.boot ?? own.boot,
    calls:
      story.calls.length === 0
        ? own.calls
        : story.calls.map((call) => ({ ...call, ...told.get(call.callId) })),
    keyIds: own.keyIds,
    closedByKey: own.closedByKey,
    missing,
  };
}

/** Clocks of processes and of Redis are near each other, and not the same. */
const clocksApartMs = 60_000;

/** A process that was gone before the rollout was opened has nothing of it. */
const mayHaveSeen = (heardAtMs: number | null, { openedAtMs }: RolloutStory): boolean =>
  heardAtMs === null || openedAtMs === null || heardAtMs > openedAtMs - clocksApartMs;
