import { describe, expect, test } from 'vitest';
import { explain } from './explanation.ts';
import type { CallStory, RolloutStory } from './rollout-story.ts';

const call = (callId: string, change: Partial<CallStory> = {}): CallStory => ({
  callId,
  tool: 'shell',
  startedAtMs: 2_000,
  outcome: 'completed',
  code: null,
  admitted: 'yes',
  blame: null,
  exitCode: 0,
  durationMs: 12,
  waitedMs: 0,
  outputBytes: 3,
  command: null,
  keyId: null,
  ...change,
});

const lostCall = call('c9', {
  startedAtMs: 3_000,
  outcome: 'infrastructure_failure',
  code: 'sandbox_lost',
  admitted: 'unknown',
  blame: 'infrastructure',
  exitCode: null,
  command: 'make test',
});

function story(change: Partial<RolloutStory> = {}): RolloutStory {
  return {
    source: 'fleet',
    rolloutId: 'r1',
    run: 'nightly',
    attempt: 1,
    environment: 'shell',
    version: 'v1',
    state: 'expired',
    voidReason: null,
    closedBy: 'idle',
    launchType: 'warm',
    sandbox: 's-1',
    boot: 'b-1',
    openedAtMs: 1_000,
    claimedAtMs: 1_100,
    closedAtMs: 9_000,
    discardedAtMs: 3_100,
    verdict: { kind: 'discard', code: 'sandbox_lost', cause: 'evicted' },
    score: null,
    suspected: null,
    broken: null,
    why: null,
    evidence: { node: 'n1' },
    calls: [call('c1'), lostCall],
    keyIds: [],
    closedByKey: null,
    missing: [],
    ...change,
  };
}

test('a rollout that can be scored, or has no verdict, has nothing to explain', () => {
  expect(explain(story({ verdict: { kind: 'scorable' } }))).toBeNull();
  expect(explain(story({ verdict: null }))).toBeNull();
});

test('a loss is told from the opening to the end, in order', () => {
  const moments = explain(story())?.timeline.map(({ what }) => what) ?? [];
  expect(moments).toEqual([
    'opened',
    'got its sandbox s-1 (warm)',
    'call c1, shell: completed, exit 0 after 12 ms',
    'call c9, shell: infrastructure_failure: sandbox_lost after 12 ms, blame infrastructure: make test',
    'discarded: sandbox_lost, evicted',
    'closed: idle',
  ]);
});

test('a long rollout is told by its beginning and its end, and what lies between is counted', () => {
  const calls = Array.from({ length: 40 }, (_, index) => call(`c${index}`, { startedAtMs: 2_000 + index }));
  const moments = explain(story({ calls }))?.timeline.map(({ what }) => what) ?? [];
  expect(moments).toHaveLength(2 + 2 + 1 + 8 + 2);
  expect(moments[4]).toBe('… 30 more calls: completed 30');
});

test('what a request is told follows from the code: the call that was cut off, then everything later', () => {
  expect(explain(story())?.told).toEqual([
    { to: 'call c9', code: 'sandbox_lost', rft: 503, native: 503, retry: 'no' },
    { to: 'every later call and grade', code: 'sandbox_lost', rft: 503, native: 503, retry: 'no' },
  ]);
  const expired = story({ verdict: { kind: 'discard', code: 'rollout_expired' }, calls: [] });
  expect(explain(expired)?.told).toMatchObject([{ rft: 503, native: 410 }]);
});

test('a changed boot is told with the life that ran the calls and the one that answered after it', () => {
  const evidence = { seen_by: 'grading', boot_after: 'b-2' };
  expect(explain(story({ evidence }))?.epoch).toEqual({ before: 's-1, boot b-1', after: 's-1, boot b-2' });
});

describe('whose fault', () => {
  test('a loss decided outside of the sandbox is ours', () => {
    expect(explain(story())).toMatchObject({
      blame: 'infrastructure',
      whose: expect.stringMatching(/^Ours/),
    });
  });

  test('where it cannot be told, the last command is named as suspected', () => {
    const told = explain(story({ suspected: 'command' }));
    expect(told).toMatchObject({ whose: expect.stringContaining('Suspected'), lastCommand: 'make test' });
  });

  test('a backend that the run may have overloaded is named as suspected', () => {
    const verdict = { kind: 'discard', code: 'dependency_failed' } as const;
    expect(explain(story({ verdict, suspected: 'dependency' }))).toMatchObject({
      blame: 'infrastructure',
      whose: expect.stringMatching(/Suspected: the policy’s use of a backend/),
    });
  });

  test('a rollout that nobody called any more is the caller’s', () => {
    const told = explain(story({ verdict: { kind: 'discard', code: 'rollout_expired' } }));
    expect(told).toMatchObject({ blame: 'caller', whose: expect.stringContaining('caller’s') });
  });
});
