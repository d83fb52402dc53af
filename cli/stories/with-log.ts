import type { RolloutStory } from '../../src/reports/rollout-story.ts';

/** The fleet's story of a rollout with what only the event log knows: its commands, and why its grader failed. */
export function withLog(story: RolloutStory, logged: readonly RolloutStory[]): RolloutStory {
  const own = logged.find(
    ({ rolloutId, run, attempt }) =>
      rolloutId === story.rolloutId && run === story.run && attempt === story.attempt,
  );
  if (own === undefined || story.source === 'event log') return story;
  const commands = new Map(own.calls.map(({ callId, command }) => [callId, command]));
  const isTold = Object.keys(story.evidence).length > 0;
  return {
    ...story,
    suspected: story.suspected ?? own.suspected,
    discardedAtMs: story.discardedAtMs ?? own.discardedAtMs,
    evidence: isTold || story.verdict?.kind !== 'discard' ? story.evidence : own.evidence,
    calls: story.calls.map((call) => ({ ...call, command: commands.get(call.callId) ?? null })),
  };
}
