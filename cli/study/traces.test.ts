import { expect, test } from 'vitest';
import { callOf, rolloutOf } from '#test/builders/study-rollouts.ts';
import { compare } from './compare.ts';
import { tracesOf } from './traces.ts';

const searches = (...queries: readonly string[]) => queries.map((query) => callOf('search', query));

test('calls are told of rollouts that came to an end: what was lost on the way looks short', () => {
  const traces = tracesOf([
    rolloutOf('a', 'x', 1, { calls: searches('1', '2', '3') }),
    rolloutOf('b', 'x', 0, { calls: searches('1') }),
    rolloutOf('c', 'x', null, { calls: [] }),
  ]);
  expect(traces).toMatchObject({ calls: 4, perRollout: 2, max: 3, histogram: [0, 1, 0, 1] });
  expect(traces.longest.map(({ rollout }) => rollout)).toEqual(['a', 'b']);
});

test('a call is a repeat where its own rollout made the same before, with the same arguments', () => {
  const traces = tracesOf([
    rolloutOf('a', 'x', 1, { calls: searches('1', '2', '1', '1') }),
    rolloutOf('b', 'x', 0, { calls: searches('1') }),
  ]);
  expect(traces.repeats).toEqual({
    calls: 5,
    repeated: 2,
    rollouts: 1,
    examples: [{ call: 'search 1', times: 2 }],
  });
});

test('what a source does not tell is not told: no size, no repeat, and no zero in their place', () => {
  const unknown = { arguments: null, outputTokens: null, outputBytes: null, tookMs: null };
  const traces = tracesOf([rolloutOf('a', 'x', 1, { calls: [{ ...callOf('search', ''), ...unknown }] })]);
  expect(traces.repeats).toBeNull();
  expect(traces.tools).toMatchObject([
    { tool: 'search', calls: 1, tokens: null, bytes: null, seconds: null },
  ]);
});

test('which tool follows which is counted inside a rollout, the most frequent first', () => {
  const calls = ['search', 'cat', 'search', 'cat'].map((tool) => callOf(tool, ''));
  const { bigrams } = tracesOf([
    rolloutOf('a', 'x', 1, { calls }),
    rolloutOf('b', 'x', 1, { calls: calls.slice(0, 1) }),
  ]);
  expect(bigrams).toEqual([
    { first: 'search', next: 'cat', times: 2 },
    { first: 'cat', next: 'search', times: 1 },
  ]);
});

test('two subjects are compared item by item, by means, and a lost copy counts on neither side', () => {
  const before = [
    rolloutOf('1', 'better', 0, { calls: searches('1', '2') }),
    rolloutOf('2', 'same', 1, { calls: searches('1') }),
    rolloutOf('3', 'same', null),
    rolloutOf('4', 'gone', 1),
  ];
  const after = [
    rolloutOf('1', 'better', 1, { calls: searches('1') }),
    rolloutOf('2', 'same', 1, { calls: searches('1') }),
    rolloutOf('5', 'new', 1),
  ];
  const quadrants = compare(before, after);
  expect(quadrants).toMatchObject({ items: 2, unmatched: 2 });
  expect(quadrants.differences).toEqual([
    { item: 'better', reward: 1, calls: -1 },
    { item: 'same', reward: 0, calls: 0 },
  ]);
  expect(quadrants.counts.better).toEqual({ fewer: 1, same: 0, more: 0 });
  expect(quadrants.counts.equal).toEqual({ fewer: 0, same: 1, more: 0 });
});
