import type { ToldLog } from './read-log.ts';
import type { RolloutStory } from '../../src/reports/rollout-story.ts';

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
    discardedAtMs: story.discardedAtMs ?? own.discardedAtMs,
    evidence: isTold || story.verdict?.kind !== 'discard' ? story.evidence : own.evidence,
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
