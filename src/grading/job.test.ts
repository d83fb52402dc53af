import { expect, test } from 'vitest';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { verdictOf } from './job.ts';

const taint = { code: 'sandbox_lost', cause: 'sandboxd_killed', evidence: {}, atMs: 1 } as const;

test('a rollout without taint is scorable while it runs and when it is scored', () => {
  expect(verdictOf(fakeRollout({ state: 'active' }))).toEqual({ kind: 'scorable' });
  expect(verdictOf(fakeRollout({ state: 'closed', score: 1 }))).toEqual({ kind: 'scorable' });
});

test('a tainted rollout is discarded with the code and cause of its taint, also when it was scored', () => {
  const discard = { kind: 'discard', code: 'sandbox_lost', cause: 'sandboxd_killed', suspected: 'command' };
  expect(verdictOf(fakeRollout({ taint }))).toEqual(discard);
  expect(verdictOf(fakeRollout({ taint, state: 'closed', score: 1 }))).toEqual(discard);
});

test('a rollout whose grader failed for good is discarded without a taint', () => {
  const rollout = fakeRollout({ state: 'grading', discard: 'grader_failed' });
  expect(verdictOf(rollout)).toEqual({ kind: 'discard', code: 'grader_failed' });
});

test('a rollout that expired before it was graded is discarded, one that was scored before is not', () => {
  expect(verdictOf(fakeRollout({ state: 'expired' }))).toEqual({ kind: 'discard', code: 'rollout_expired' });
  expect(verdictOf(fakeRollout({ state: 'expired', score: 0 }))).toEqual({ kind: 'scorable' });
});
