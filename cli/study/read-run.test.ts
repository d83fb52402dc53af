import { expect, test } from 'vitest';
import { parseEvent } from '#src/adapters/event-log/event-lines.ts';
import { rolloutId, runId, tenantId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { RunDrafts } from './read-run.ts';

const owner = (rollout: string) =>
  rolloutKey({
    tenant: tenantId('acme'),
    run: runId('nightly'),
    rollout: rolloutId(rollout),
    attempt: 1,
    role: 'policy',
  });

/** An event as its log line is read. */
function event(rollout: string, kind: string, fields: object) {
  const common = { atMs: 9_000, key: owner(rollout), environment: 'docs', version: 'v1' };
  const found = parseEvent(JSON.stringify({ kind, ...common, ...fields }));
  if (found === null) throw new TypeError('no event');
  return found;
}

const scored = (rollout: string, score: number, more: object = {}) =>
  event(rollout, 'verdict', {
    verdict: { kind: 'scorable' },
    score,
    suspected: null,
    evidence: {},
    openedAtMs: 2_000,
    ...more,
  });
const summary = {
  call: 'c1',
  tool: 'shell',
  code: null,
  admitted: 'yes',
  exitCode: 0,
  startedAtMs: 3_000,
  durationMs: 200,
  waitedMs: 50,
  outputBytes: 40,
};
const settled = (rollout: string, outcome: string, more: object = {}) =>
  event(rollout, 'call_settled', {
    summary: { ...summary, outcome, ...more },
    epoch: null,
    lastCommand: 'ls',
    evidence: {},
  });
const discarded = event('lost', 'verdict', {
  verdict: { kind: 'discard', code: 'sandbox_lost' },
  score: null,
  suspected: null,
  evidence: {},
});
const why = {
  itemId: 'q1',
  item: '{}',
  answer: {},
  reference: {},
  parts: [{ part: 'gate', score: 1, reason: '' }],
  stderr: '',
};

function read(...events: readonly ReturnType<typeof event>[]) {
  const drafts = new RunDrafts();
  for (const each of events) drafts.add(each);
  return drafts.rolloutsOf('docs');
}

test('a discarded rollout is lost, with its code, whose failure it was and where, and has no score', () => {
  const lostCall = settled('lost', 'infrastructure_failure', { code: 'sandbox_lost', exitCode: null });
  expect(read(lostCall, discarded)).toMatchObject([
    { ended: { kind: 'lost', loss: { at: 'shell', code: 'sandbox_lost', blame: 'infrastructure' } } },
  ]);
});

test('a rollout that nobody graded is neither lost nor a zero', () => {
  expect(read(settled('open', 'completed'))).toMatchObject([{ item: null, ended: { kind: 'ungraded' } }]);
});

test('a verdict that is told twice, with its why and without, is one, whichever comes first', () => {
  const both = [scored('a', 0.5), scored('a', 0.5, { why }), settled('a', 'completed')];
  const told = read(...both);
  expect(told).toEqual(read(...both.toReversed()));
  expect(told).toMatchObject([
    {
      id: 'a',
      item: 'q1',
      tookMs: 7_000,
      parts: why.parts,
      calls: [{ tool: 'shell', arguments: 'ls', outputBytes: 40, outputTokens: null, tookMs: 250 }],
      ended: { kind: 'scored', score: 0.5 },
    },
  ]);
});

const unnamed = (rollout: string, item: string) =>
  scored(rollout, 1, { why: { ...why, itemId: null, item } });

test('an item without an id is known by its text', () => {
  const [one, same, other] = read(unnamed('a', '{"q":1}'), unnamed('b', '{"q":1}'), unnamed('c', '{"q":2}'));
  expect(one?.item).toBe(same?.item);
  expect(one?.item).not.toBe(other?.item);
});
