import { expect, test } from 'vitest';
import { rolloutKey } from '#src/model/rollout.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import type { Outline } from '../stories/outlines.ts';
import { describeLeftOut, listLeftOut } from './left-out.ts';
import { describeRegrade, type Regraded, summaryOf } from './regrade.ts';

function logged(rollout: string, over: Partial<Outline> = {}): Outline {
  const owner = { ...fakeOwner(rollout), attempt: over.attempt ?? 1 };
  return {
    key: rolloutKey(owner),
    rolloutId: rollout,
    run: owner.run,
    attempt: owner.attempt,
    environment: 'kept',
    verdict: { kind: 'scorable' },
    score: 1,
    suspected: null,
    voidReason: null,
    calls: 0,
    lastCommand: null,
    ...over,
  };
}

const regraded = (rollout: string, score: number | null, why: string | null = null): Regraded => ({
  rollout,
  item: null,
  version: 'v1',
  graded_at_ms: 0,
  old: 1,
  new: score,
  why,
  parts: [],
});

const lost = { verdict: { kind: 'discard', code: 'sandbox_lost' }, score: null } as const;

test.each([
  ['voided: its row was wrong', { voidReason: 'its row was wrong' }],
  ['discarded: sandbox_lost', lost],
  ['voided: a duplicate', { ...lost, voidReason: 'a duplicate' }],
  ['has no score', { verdict: null, score: null }],
  ['scored, and not kept', {}],
])('a rollout that was not given to the newer grader is listed: %s', (described, over) => {
  expect(listLeftOut([logged('r1', over)], new Set(), []).map(describeLeftOut)).toEqual([described]);
});

test('a rollout of which the newer grader failed is listed once, with why', () => {
  const one = logged('r1');
  const leftOut = listLeftOut([one], new Set([one.key]), [regraded('r1', null, 'grader_failed: no judge')]);
  expect(leftOut).toEqual([{ rollout: 'r1', reason: 'no_new_score', why: 'grader_failed: no judge' }]);
});

test('a rollout with both scores is not listed, nor an attempt before its newest', () => {
  const newest = logged('r1', { attempt: 2 });
  const all = [newest, logged('r1', { ...lost, attempt: 1 })];
  expect(listLeftOut(all, new Set([newest.key]), [regraded('r1', 0.5)])).toEqual([]);
});

test('the report lists how many and which rollouts the means leave out, with the reason', () => {
  const rollouts = [regraded('r1', 0.5), regraded('r2', null, 'grader_failed: no judge')];
  const graded = new Set(['r1', 'r2'].map((id) => logged(id).key));
  const left_out = listLeftOut([logged('r1'), logged('r2'), logged('r3', lost)], graded, rollouts);
  const summary = summaryOf(rollouts, 0);
  const report = { run: 'nightly', grader: 'g.yaml', ok: false, summary, rollouts, left_out };
  expect(describeRegrade(report, Infinity)).toContain(
    [
      'Left out of both means: 2',
      '',
      'rollout  reason',
      'r3       discarded: sandbox_lost',
      'r2       no new score: grader_failed: no judge',
    ].join('\n'),
  );
});
