import { expect, test } from 'vitest';
import { type GroupRewards, RewardSum } from './mean-reward.ts';

function rewardOf(...groups: readonly Partial<GroupRewards>[]) {
  const sum = new RewardSum();
  for (const group of groups) sum.add({ scored: 0, mean: null, discarded: 0, discards: {}, ...group });
  return sum.reward;
}

test('rewards 1, 3, 2 and a lost sandbox have the mean 2, and 1.5 for a trainer that masks nothing', () => {
  expect(rewardOf({ scored: 3, mean: 2, discarded: 1, discards: { infrastructure: 1 } })).toEqual({
    mean: 2,
    ifZeroed: 1.5,
    discards: { infrastructure: 1 },
  });
});

test("callers' and voided rollouts are in neither value", () => {
  const reward = rewardOf({ scored: 2, mean: 3, discarded: 5, discards: { infrastructure: 1, caller: 4 } });
  expect(reward).toMatchObject({ mean: 3, ifZeroed: 2, discards: { infrastructure: 1, caller: 4 } });
});

test('groups count by their scores', () => {
  const lost = { discarded: 1, discards: { infrastructure: 1 } };
  const reward = rewardOf({ scored: 1, mean: 4 }, { scored: 3, mean: 0, ...lost }, lost);
  expect(reward.mean).toBe(1);
  expect(reward.ifZeroed).toBeCloseTo(4 / 6, 12);
  expect(reward.discards).toEqual({ infrastructure: 2 });
});

test('zeros raise a negative mean', () => {
  const reward = rewardOf({ scored: 1, mean: -1, discarded: 3, discards: { infrastructure: 3 } });
  expect(reward).toMatchObject({ mean: -1, ifZeroed: -0.25 });
});

test('a group of infrastructure discards alone has no mean, and a zero for a trainer that masks nothing', () => {
  const reward = rewardOf({ discarded: 2, discards: { infrastructure: 2 } });
  expect(reward).toMatchObject({ mean: null, ifZeroed: 0 });
});

test('without scores and infrastructure discards there is neither value', () => {
  expect(rewardOf()).toEqual({ mean: null, ifZeroed: null, discards: {} });
  expect(rewardOf({ discarded: 1, discards: { caller: 1 } })).toMatchObject({ mean: null, ifZeroed: null });
});

test('a discard of unknown blame, which an earlier release counted, leaves only the mean', () => {
  expect(rewardOf({ scored: 1, mean: 1, discarded: 1 })).toMatchObject({ mean: 1, ifZeroed: null });
});
