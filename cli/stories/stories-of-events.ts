import { ownerOf } from '../../src/model/rollout.ts';
import type { RolloutKey } from '../../src/model/rollout.ts';
import type { RolloutEvent } from '../../src/ports/event-log.ts';
import { blameOf } from '../../src/reports/rollout-story.ts';
import type { CallStory, RolloutStory } from '../../src/reports/rollout-story.ts';

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
    callStory(
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
    suspected: verdict?.suspected ?? null,
    broken: null,
    evidence: evidenceOf(settled, verdict),
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
function callStory({ summary, lastCommand, keyId }: CallSettled, sent: LostCommand | undefined): CallStory {
  const command = lastCommand === '' ? sent?.command : lastCommand;
  return {
    callId: summary.call,
    tool: summary.tool,
    startedAtMs: summary.startedAtMs,
    outcome: summary.outcome ?? 'running',
    code: summary.code,
    admitted: summary.admitted,
    blame: blameOf(summary),
    exitCode: summary.exitCode,
    durationMs: summary.durationMs,
    waitedMs: summary.waitedMs,
    outputBytes: summary.outputBytes,
    command: command ?? null,
    keyId: keyId ?? sent?.keyId ?? null,
  };
}
