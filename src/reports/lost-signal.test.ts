import { expect, test } from 'vitest';
import { LostSignal } from './lost-signal.ts';

const group = (n: number, discarded: number, wave = 1) => ({ wave, n, discarded });

function lostSignal(groups: readonly ReturnType<typeof group>[]) {
  const signal = new LostSignal();
  for (const each of groups) signal.add(each);
  return signal.waves;
}

test('a discard costs its own advantage, while two others of its group can be compared', () => {
  expect(lostSignal([group(4, 1), group(4, 0)])).toEqual([
    { wave: 1, groups: 2, groupsHurt: 1, rollouts: 8, rolloutsLost: 1, signalLost: 1 / 8 },
  ]);
});

test('a group that keeps one member gives no signal at all', () => {
  expect(lostSignal([group(4, 3), group(4, 0)])).toMatchObject([{ rolloutsLost: 3, signalLost: 4 / 8 }]);
});

test('a group that was small from the start has lost nothing by that', () => {
  expect(lostSignal([group(1, 0), group(1, 1)])).toMatchObject([{ groupsHurt: 1, signalLost: 1 / 2 }]);
});

test('waves are told apart, in their order', () => {
  const waves = lostSignal([group(2, 1, 2), group(2, 0, 1), group(2, 0, 2)]);
  expect(waves.map(({ wave, groups, signalLost }) => [wave, groups, signalLost])).toEqual([
    [1, 1, 0],
    [2, 2, 1 / 2],
  ]);
});

test('a run without groups has no waves', () => {
  expect(lostSignal([])).toEqual([]);
});
