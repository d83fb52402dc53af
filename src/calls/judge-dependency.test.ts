import { expect, test } from 'vitest';
import type { ProbeRecord, ProbeResult } from '../ports/fleet/dependencies.ts';
import { judgeDependency } from './judge-dependency.ts';

/** A call that ran from 100 s to 102 s; its backend is probed every 5 s. */
const dependency = { everyMs: 5_000 };
const times = { startedAtMs: 100_000, endedAtMs: 102_000 };

const good = (beganAtMs: number): ProbeResult => ({ beganAtMs, endedAtMs: beganAtMs + 10, failed: null });
const bad = (beganAtMs: number, tookMs = 10): ProbeResult => ({
  beganAtMs,
  endedAtMs: beganAtMs + tookMs,
  failed: 'answered 503',
});

const record = (results: readonly ProbeResult[], given: Partial<ProbeRecord> = {}): ProbeRecord => ({
  nowMs: 102_500,
  results,
  goodAtMs: 50_000,
  load: { ofRun: 1, ofAll: 100 },
  recoveredAtMs: null,
  ...given,
});

const judge = (results: readonly ProbeResult[], given: Partial<ProbeRecord> = {}) =>
  judgeDependency(dependency, times, record(results, given), true);

const judgeNow = (results: readonly ProbeResult[]) =>
  judgeDependency(dependency, times, record(results), false);

const failed = { kind: 'failed', reason: 'answered 503', doubt: null };

test.each([
  ['while the call ran', [bad(101_000)]],
  ['and began before the call and failed in it', [bad(99_000, 2_000)]],
  ['within an interval after its end', [good(101_000), bad(106_900)]],
  ['an interval before the call, and none was good since', [bad(94_000), good(102_100)]],
  ['beside good ones', [good(100_100), bad(101_000), good(102_100)]],
])('a probe that failed %s: the backend failed', (_when, results) => {
  expect(judge(results)).toEqual(failed);
});

test.each([
  ['longer before the call, so that it had one of its own', [bad(93_900), good(102_100)]],
  ['before the call, with a good one after it', [bad(96_000), good(98_000), good(102_100)]],
  ['later than an interval after its end', [good(102_100), bad(110_000)]],
])('a probe that failed %s says nothing of it', (_when, results) => {
  expect(judge(results)).toEqual({ kind: 'good' });
});

test('a good probe that began after the end decides; one from before it does not yet', () => {
  expect(judge([good(101_999)])).toEqual({ kind: 'wait', forMs: 102_000 + 11_000 - 102_500 });
  expect(judge([good(102_000)])).toEqual({ kind: 'good' });
});

test('when the wait is over, good probes with no gap decide; a gap in which a failure could hide does not', () => {
  const over = { nowMs: 113_000 };
  expect(judge([good(101_999)], over)).toEqual({ kind: 'good' });
  const long = { startedAtMs: 50_000, endedAtMs: 102_000 };
  const spread = (atMs: readonly number[]) =>
    judgeDependency(dependency, long, record(atMs.map(good), over), true);
  expect(spread([60_000, 75_000, 90_000, 102_500])).toEqual({ kind: 'good' });
  expect(spread([60_000, 80_000, 102_500])).toMatchObject({ kind: 'undecided' });
  expect(spread([70_000, 85_000, 102_500])).toMatchObject({ kind: 'undecided' });
});

test('no result at all decides nothing: neither of the backend nor of the policy', () => {
  expect(judge([], { nowMs: 112_999 })).toEqual({ kind: 'wait', forMs: 1 });
  expect(judge([], { nowMs: 113_000 })).toMatchObject({ kind: 'undecided' });
});

test('a controller, which cannot wait, decides by what is known', () => {
  expect(judgeNow([good(101_000)])).toEqual({ kind: 'good' });
  expect(judgeNow([])).toMatchObject({ kind: 'undecided' });
  expect(judgeNow([bad(101_000)])).toEqual(failed);
});

test.each([
  ['has forgotten the call', { ...times, startedAtMs: null }, {}],
  ['was made the fleet’s after its start', times, { recoveredAtMs: 101_000 }],
])('a Redis that %s: good probes prove nothing, a failed one still does', (_what, of, given) => {
  const judged = (results: readonly ProbeResult[]) =>
    judgeDependency(dependency, of, record(results, given), true);
  expect(judged([good(102_100)])).toMatchObject({ kind: 'undecided' });
  expect(judged([bad(102_100)])).toEqual(failed);
});

test.each([
  [
    'makes more than half of the calls',
    { load: { ofRun: 51, ofAll: 100 } },
    /its run makes most of .*, 51 of late/,
  ],
  ['makes all of them', { load: { ofRun: 8, ofAll: 8 } }, /its run makes most of .*, 8 of late/],
])('a run that %s may have overloaded the backend: the failure is doubted', (_what, given, doubt) => {
  const told = judge([bad(101_000)], given);
  expect(told).toMatchObject({ kind: 'failed', doubt: expect.stringMatching(doubt) as string });
});

test.each([
  ['half of the calls', { load: { ofRun: 50, ofAll: 100 } }],
  ['seven calls, and all that there are', { load: { ofRun: 7, ofAll: 7 } }],
])('a run that makes %s overloads nothing', (_what, given) => {
  expect(judge([bad(101_000)], given)).toEqual(failed);
});

test('a backend that no gateway has ever found good may only be out of their reach: the failure is doubted', () => {
  expect(judge([bad(101_000)], { goodAtMs: null })).toMatchObject({
    kind: 'failed',
    doubt: expect.stringContaining('unable to reach') as string,
  });
});
