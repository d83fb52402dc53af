import { expect, test } from 'vitest';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { rolloutId } from '../model/ids.ts';
import { rolloutKey } from '../model/rollout.ts';
import { Acquaintances } from './acquaintances.ts';
import { openingClaim } from './claim-request.ts';

const { owner } = fakeRollout();
const environment = fakeEnvironment();
const keyOf = (index: number) => rolloutKey({ ...owner, rollout: rolloutId(`r${index}`) });

function remember(acquaintances: Acquaintances, index: number, rowCharacters: number): void {
  const row = { text: 'x'.repeat(rowCharacters) };
  const claim = openingClaim(owner, 'rft', environment, row, JSON.stringify);
  acquaintances.remember(keyOf(index), { claim, environment, exposed: {} });
}

function remembered(acquaintances: Acquaintances, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index).filter((index) =>
    acquaintances.get(keyOf(index)),
  );
}

test('of rollouts with rows of 1 MB as many are remembered as 64 MiB hold, the newest', () => {
  const acquaintances = new Acquaintances();
  for (let index = 0; index < 100; index += 1) remember(acquaintances, index, 1_000_000);
  const kept = remembered(acquaintances, 100);
  expect(kept).toHaveLength(67);
  expect(kept.at(-1)).toBe(99);
});

test('one that is remembered again counts once, and is the newest then', () => {
  const acquaintances = new Acquaintances();
  for (let turn = 0; turn < 200; turn += 1) remember(acquaintances, 0, 1_000_000);
  for (let index = 1; index < 67; index += 1) remember(acquaintances, index, 1_000_000);
  remember(acquaintances, 0, 1_000_000);
  remember(acquaintances, 67, 1_000_000);
  expect(remembered(acquaintances, 68)).not.toContain(1);
  expect(remembered(acquaintances, 68)).toContain(0);
});

test('of small ones 4,096 are remembered', () => {
  const acquaintances = new Acquaintances();
  for (let index = 0; index < 5_000; index += 1) remember(acquaintances, index, 10);
  expect(remembered(acquaintances, 5_000)).toHaveLength(4_096);
});
