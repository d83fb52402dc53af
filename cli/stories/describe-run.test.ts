import { expect, test } from 'vitest';
import type { RunAnswer } from '../../src/protocol/native/runs.ts';
import { describeRun } from './describe-run.ts';
import { runStoryOfAnswer } from './run-story.ts';

const answer: RunAnswer = {
  run: 'nightly',
  state: 'open',
  rollouts: 4,
  open: 1,
  scored: 2,
  discarded: 1,
  calls: {},
  blame: {},
  codes: {},
  waves: [],
  groups: [],
  sandbox_seconds: { scored: 30_000, discarded: 9_000, ungraded: 5_280 },
  fleet_idle_share: 0.25,
};

const screenOf = (given: Partial<RunAnswer>) =>
  describeRun(runStoryOfAnswer({ ...answer, ...given }, []), 120);

test('a run says how many hours of sandboxes it took, and how much of them was for nothing', () => {
  const screen = screenOf({});
  expect(screen).toMatch(/^sandboxes +12\.3 h of rollouts that are over, 20\.3 % of them discarded$/m);
  expect(screen).toMatch(/^idle +25\.0 % of what the whole fleet’s sandboxes have cost$/m);
});

test('a run of which nothing is over yet has cost nothing, and no share of that', () => {
  const nothing = { scored: 0, discarded: 0, ungraded: 0 };
  const screen = screenOf({ sandbox_seconds: nothing, fleet_idle_share: null });
  expect(screen).toMatch(/^sandboxes +0 ms of rollouts that are over$/m);
  expect(screen).toMatch(/^idle +–$/m);
});

test('minutes of sandboxes are told in minutes', () => {
  const short = { scored: 125, discarded: 0, ungraded: 0 };
  expect(screenOf({ sandbox_seconds: short })).toContain('2 min 5 s of rollouts');
});
