import { expect, test } from 'vitest';
import { describePlayed, isHeld, type Played } from './report.ts';

const honest: Played = { who: 'honest', score: 3, worth: 3, why: 'scored', suspected: false };
const hostile: Played = { who: 'disk', score: 0, worth: 1, why: 'scored', suspected: false };
const lost = { score: null, why: 'sandbox_lost evicted' } as const;

test.each<[string, readonly Played[], boolean]>([
  ['true scores', [honest, hostile], true],
  ['an honest discard', [honest, { ...honest, ...lost }, hostile], true],
  ['a false zero', [honest, { ...honest, score: 0 }, hostile], false],
  ['a hostile score that is better than its work', [honest, { ...hostile, score: 2 }], false],
  ['a hostile discard with a mark', [honest, { ...hostile, ...lost, suspected: true }], true],
  ['a hostile discard without a mark', [honest, { ...hostile, ...lost }], false],
  ['no hostile rollout', [honest], false],
])('%s: held or not', (_what, played, expected) => {
  expect(isHeld(played)).toBe(expected);
});

test('discards are counted by their reason and mark', () => {
  const discard: Played = { ...honest, ...lost, suspected: true };
  expect(describePlayed([honest, discard, discard])).toEqual([
    'honest: 3 rollouts, 1 scored, 0 of them falsely, 2 discards marked, 0 not marked',
    '  2 × sandbox_lost evicted, marked',
  ]);
});
