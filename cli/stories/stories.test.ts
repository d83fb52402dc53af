import { expect, test } from 'vitest';
import { bootId, callId, rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import type { RolloutEvent } from '#src/ports/event-log.ts';
import { describeStory } from './describe-story.ts';
import { Outlines, runLinesOfOutlines, summaryOfOutline, withEnded } from './outlines.ts';
import { storiesOfEvents, withLog } from './rollout-sources.ts';

const keyOf = (rollout: string, attempt = 1) =>
  rolloutKey({
    tenant: tenantId('t'),
    run: runId('nightly'),
    rollout: rolloutId(rollout),
    attempt,
    role: 'policy',
  });

const common = { atMs: 1000, keyId: 'trainer', environment: 'shell', version: 'abcdef0123456789' };

function settled(
  rollout: string,
  call: string,
  change: Partial<Extract<RolloutEvent, { kind: 'call_settled' }>>,
) {
  const event: RolloutEvent = {
    ...common,
    kind: 'call_settled',
    key: keyOf(rollout),
    blame: null,
    epoch: { sandbox: sandboxId('s-1'), boot: bootId('b') },
    lastCommand: `sh -c\n"${call}"`,
    evidence: {},
    summary: {
      call: callId(call),
      tool: 'shell',
      state: 'settled',
      outcome: 'completed',
      code: null,
      admitted: 'yes',
      exitCode: 0,
      startedAtMs: 1000,
      durationMs: 12,
      waitedMs: 3,
      outputBytes: 42,
      sandbox: sandboxId('s-1'),
    },
  };
  return { ...event, ...change };
}

function outlinesOf(events: readonly RolloutEvent[]) {
  const outlines = new Outlines();
  for (const event of events) outlines.add(event);
  return outlines.all;
}

const good = settled('r1', 'c1', {});
const lost = settled('r1', 'c2', {
  blame: 'infrastructure',
  evidence: { signal: 'SIGKILL' },
  summary: {
    ...good.summary,
    call: callId('c2'),
    outcome: 'infrastructure_failure',
    code: 'sandbox_lost',
    exitCode: null,
  },
});
const discarded: RolloutEvent = {
  ...common,
  kind: 'verdict',
  key: keyOf('r1'),
  verdict: { kind: 'discard', code: 'sandbox_lost', cause: 'sandboxd_killed' },
  score: null,
  suspected: null,
  evidence: {},
};
const scored: RolloutEvent = { ...discarded, key: keyOf('r2'), verdict: { kind: 'scorable' }, score: 0.75 };

test('the event log tells a rollout call by call, with its verdict and what decided it', () => {
  const [story] = storiesOfEvents([good, lost, discarded]);
  expect(story).toMatchObject({
    source: 'event log',
    rolloutId: 'r1',
    run: 'nightly',
    verdict: { code: 'sandbox_lost' },
    evidence: { signal: 'SIGKILL' },
  });
  expect(story?.calls.map(({ callId, blame }) => [callId, blame])).toEqual([
    ['c1', null],
    ['c2', 'infrastructure'],
  ]);
});

test('lines of several processes are told in the order of their times', () => {
  const late = settled('r1', 'c3', { atMs: 3_000, summary: { ...good.summary, call: callId('c3') } });
  const [story] = storiesOfEvents([late, { ...scored, key: keyOf('r1'), atMs: 2_000 }, good, discarded]);
  expect(story?.calls.map(({ callId: id }) => id)).toEqual(['c1', 'c3']);
  expect(story?.verdict).toEqual({ kind: 'scorable' });
});

test('one screen says what happened, whose it was and why', () => {
  const [story] = storiesOfEvents([good, lost, discarded]);
  const screen = story === undefined ? '' : describeStory(story, 120);
  expect(screen).toContain('verdict      discard: sandbox_lost (sandboxd_killed)');
  expect(screen).toContain('  signal       SIGKILL');
  expect(screen).toMatch(
    /call c2, shell: infrastructure_failure: sandbox_lost after 12 ms, blame infrastructure/,
  );
  expect(screen).toContain('sh -c "c1"');
});

test('a run counts what was scored and what was discarded, and why', () => {
  const [run] = runLinesOfOutlines(outlinesOf([good, lost, discarded, scored]));
  expect(run).toMatchObject({
    run: 'nightly',
    rollouts: 2,
    scored: 1,
    discarded: 1,
    codes: { sandbox_lost: 1 },
  });
});

test('a rollout without a verdict is in no list of discards', () => {
  const [outline] = outlinesOf([good]);
  expect(outline && summaryOfOutline(outline)).toMatchObject({ verdict: null, code: null, calls: 1 });
});

test('an outline is of the latest event that tells each part, in whatever order they come', () => {
  const later = {
    ...good,
    atMs: 3_000,
    lastCommand: 'make',
    summary: { ...good.summary, startedAtMs: 2_500 },
  };
  const sent = {
    ...common,
    kind: 'lost_command',
    key: keyOf('r1'),
    atMs: 2_900,
    call: callId('c2'),
    command: 'kill -9 -1',
  } as const;
  const lostLater = { ...lost, lastCommand: '', atMs: 2_950 };
  for (const events of [
    [good, later, sent, lostLater, discarded],
    [discarded, lostLater, sent, later, good],
  ]) {
    const [outline] = outlinesOf(events);
    expect(outline).toMatchObject({
      rolloutId: 'r1',
      calls: 3,
      lastCommand: 'kill -9 -1',
      verdict: { code: 'sandbox_lost' },
    });
  }
});

test('rollouts beyond the bound are left out, and what is kept goes on', () => {
  const other = settled('r2', 'c1', {});
  const outlines = new Outlines(1);
  expect([good, other, { ...good, atMs: 2_000 }].map((event) => outlines.add(event))).toEqual([
    true,
    false,
    true,
  ]);
  expect(outlines.all).toMatchObject([{ rolloutId: 'r1', calls: 2 }]);
});

test('of a rollout that the fleet knows by its line alone, the event log tells calls, sandbox and evidence', () => {
  const [logged] = storiesOfEvents([good, lost]);
  if (logged === undefined) return expect.unreachable('no story');
  const line = {
    ...logged,
    source: 'fleet' as const,
    state: 'closed',
    calls: [],
    sandbox: null,
    boot: null,
    evidence: {},
  };
  const told = withLog(line, { told: [logged], missing: [] });
  expect(told).toMatchObject({ source: 'fleet', state: 'closed', sandbox: 's-1', boot: 'b' });
  expect(told.calls.map(({ callId: id }) => id)).toEqual(['c1', 'c2']);
});

test('a list has those that the fleet knows, and after them those that only the event log does, each once', () => {
  const [one, other] = outlinesOf([good, settled('r2', 'c1', {})]).map(summaryOfOutline);
  if (one === undefined || other === undefined) return expect.unreachable('no outline');
  const known = { ...other, source: 'fleet' as const };
  const another = { ...other, attempt: 2 };
  expect(withEnded([known], [one, other, another])).toEqual([known, one, another]);
});

test('a scored rollout says on one screen what was answered, what was true, and what each part of its grader says', () => {
  const why = {
    itemId: 'task-7',
    item: '{"id":"task-7","files":["a.ts"]}',
    answer: { 'output_json.files': '["b.ts"]\u001b[2J' },
    reference: { 'item.files': '["a.ts"]' },
    parts: [
      { part: 'weighted', score: 0, reason: 'the mean of 2 parts by weight' },
      { part: 'weighted > 1 f1', score: 0, reason: '0 of 1 expected are among 1 answered' },
      { part: 'weighted > 2 command', score: 0, reason: 'by its score file' },
    ],
    stderr: `${'\n'.repeat(50)}3 tests failed\u0007\nthe last line\n`,
  };
  const scored: RolloutEvent = {
    ...common,
    kind: 'verdict',
    key: keyOf('r1'),
    verdict: { kind: 'scorable' },
    score: 0,
    suspected: null,
    evidence: { turn: 1 },
    why,
  };
  const [story] = storiesOfEvents([good, JSON.parse(JSON.stringify(scored)) as RolloutEvent]);
  if (story === undefined) throw new Error('no story');
  expect(story.why).toEqual(why);
  const screen = describeStory(story, 100);
  for (const said of [
    'item         task-7',
    'answer       output_json.files = ["b.ts"]\\u001b[2J',
    'reference    item.files = ["a.ts"]',
    'weighted > 1 f1',
    '0 of 1 expected are among 1 answered',
    '3 tests failed\\u0007',
    'the last line',
  ])
    expect(screen).toContain(said);
  expect(screen.split('\n').length).toBeLessThan(40);
  const fleet = { ...story, source: 'fleet', why: null } as const;
  expect(withLog(fleet, { told: [story], missing: [] }).why).toEqual(why);
});
