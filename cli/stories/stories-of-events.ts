import { ownerOf } from '../../src/model/rollout.ts';
import type { RolloutKey } from '../../src/model/rollout.ts';
import type { FleetEvent } from '../../src/ports/event-log.ts';
import { blameOf } from './story.ts';
import type { CallStory, RolloutStory } from './story.ts';

type CallSettled = Extract<FleetEvent, { kind: 'call_settled' }>;
type VerdictReached = Extract<FleetEvent, { kind: 'verdict' }>;

/** Every rollout that the event log tells of, in the order of their first events. */
export function storiesOfEvents(events: readonly FleetEvent[]): readonly RolloutStory[] {
  // Each process has files of its own, so the lines of one rollout come from several.
  const inTime = events.toSorted((one, other) => one.atMs - other.atMs);
  return [...Map.groupBy(inTime, ({ key }) => key)].map(([key, own]) => storyOfEvents(key, own));
}

function storyOfEvents(key: RolloutKey, events: readonly FleetEvent[]): RolloutStory {
  const owner = ownerOf(key);
  const calls = events.filter((event) => event.kind === 'call_settled');
  const verdict = events.findLast((event) => event.kind === 'verdict');
  const latest = events.at(-1);
  return {
    source: 'event log',
    rolloutId: owner.rollout,
    run: owner.run,
    attempt: owner.attempt,
    environment: latest?.environment ?? '',
    version: latest?.version ?? '',
    state: null,
    closedBy: null,
    launchType: null,
    sandbox: calls.findLast(({ epoch }) => epoch !== null)?.epoch?.sandbox ?? null,
    verdict: verdict?.verdict ?? null,
    score: verdict?.score ?? null,
    evidence: evidenceOf(calls, verdict),
    calls: calls.map(callStory),
  };
}

/** What decided: the verdict's own evidence, else that of the call which failed. */
function evidenceOf(calls: readonly CallSettled[], verdict: VerdictReached | undefined) {
  const failed = calls.find(({ summary }) => summary.outcome === 'infrastructure_failure');
  const decided = verdict === undefined || Object.keys(verdict.evidence).length === 0 ? failed : verdict;
  return decided?.evidence ?? {};
}

function callStory({ summary, blame, lastCommand }: CallSettled): CallStory {
  return {
    callId: summary.call,
    tool: summary.tool,
    startedAtMs: summary.startedAtMs,
    outcome: summary.outcome ?? 'running',
    code: summary.code,
    blame: blameOf(summary.outcome, summary.exitCode, blame) ?? blame,
    exitCode: summary.exitCode,
    durationMs: summary.durationMs,
    waitedMs: summary.waitedMs,
    outputBytes: summary.outputBytes,
    command: lastCommand === '' ? null : lastCommand,
  };
}
