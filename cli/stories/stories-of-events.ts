import { ownerOf } from '../../src/model/rollout.ts';
import type { RolloutKey } from '../../src/model/rollout.ts';
import type { RolloutEvent } from '../../src/ports/event-log.ts';
import { blameOf } from '../../src/reports/rollout-story.ts';
import type { CallStory, RolloutStory } from '../../src/reports/rollout-story.ts';

type CallSettled = Extract<RolloutEvent, { kind: 'call_settled' }>;
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
  const commands = new Map<string, string>(
    events.flatMap((event) => (event.kind === 'lost_command' ? [[event.call, event.command]] : [])),
  );
  const calls = settled.map((event) => callStory(event, commands));
  const verdict = events.findLast((event) => event.kind === 'verdict');
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
    closedBy: null,
    launchType: null,
    sandbox: epoch?.sandbox ?? null,
    boot: epoch?.boot ?? null,
    openedAtMs: null,
    claimedAtMs: null,
    closedAtMs: null,
    discardedAtMs: verdict?.verdict.kind === 'discard' ? verdict.atMs : null,
    verdict: verdict?.verdict ?? null,
    score: verdict?.score ?? null,
    suspected: verdict?.suspected ?? null,
    broken: null,
    evidence: evidenceOf(settled, verdict),
    calls: calls.toSorted((one, other) => one.startedAtMs - other.startedAtMs),
  };
}

/** What decided: the verdict's own evidence, else that of the call which failed. */
function evidenceOf(calls: readonly CallSettled[], verdict: VerdictReached | undefined) {
  const failed = calls.find(({ summary }) => summary.outcome === 'infrastructure_failure');
  const decided = verdict === undefined || Object.keys(verdict.evidence).length === 0 ? failed : verdict;
  return decided?.evidence ?? {};
}

function callStory({ summary, lastCommand }: CallSettled, commands: ReadonlyMap<string, string>): CallStory {
  const command = lastCommand === '' ? commands.get(summary.call) : lastCommand;
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
  };
}
