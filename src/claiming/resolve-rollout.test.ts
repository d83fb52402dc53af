import { expect, test } from 'vitest';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { rolloutId } from '../model/ids.ts';
import { rolloutKey } from '../model/rollout.ts';
import { RolloutCache } from './resolve-rollout.ts';
import { openingClaim } from './claim-request.ts';

const { owner } = fakeRollout();
const environment = fakeEnvironment();
const keyOf = (index: number) => rolloutKey({ ...owner, rollout: rolloutId(`r${index}`) });

function remember(rolloutCache: RolloutCache, index: number, rowCharacters: number): void {
  const row = { text: 'x'.repeat(rowCharacters) };
  const claim = openingClaim(owner, 'rft', environment, row, JSON.stringify);
  rolloutCache.remember(keyOf(index), { claim, environment, exposed: {} });
}

function remembered(rolloutCache: RolloutCache, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index).filter((index) => rolloutCache.get(keyOf(index)));
}

test('of rollouts with rows of 1 MB as many are remembered as 64 MiB hold, the newest', () => {
  const rolloutCache = new RolloutCache();
  for (let index = 0; index < 100; index += 1) remember(rolloutCache, index, 1_000_000);
  const kept = remembered(rolloutCache, 100);
  expect(kept).toHaveLength(67);
  expect(kept.at(-1)).toBe(99);
});

test('one that is remembered again counts once, and is the newest then', () => {
  const rolloutCache = new RolloutCache();
  for (let turn = 0; turn < 200; turn += 1) remember(rolloutCache, 0, 1_000_000);
  for (let index = 1; index < 67; index += 1) remember(rolloutCache, index, 1_000_000);
  remember(rolloutCache, 0, 1_000_000);
  remember(rolloutCache, 67, 1_000_000);
  expect(remembered(rolloutCache, 68)).not.toContain(1);
  expect(remembered(rolloutCache, 68)).toContain(0);
});

test('of small ones 4,096 are remembered', () => {
  const rolloutCache = new RolloutCache();
  for (let index = 0; index < 5_000; index += 1) remember(rolloutCache, index, 10);
  expect(remembered(rolloutCache, 5_000)).toHaveLength(4_096);
});
