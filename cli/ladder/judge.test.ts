import { expect, test } from 'vitest';
import { judgeLadder, type Rung } from './judge.ts';
import type { Kind } from './policies.ts';

const rung = (kind: Kind, scores: readonly number[], more: Partial<Rung> = {}): Rung => ({
  name: kind,
  kind,
  scores,
  expect: null,
  lost: [],
  broken: null,
  ...more,
});

const mistakesOf = (...rungs: readonly Rung[]) =>
  Object.fromEntries(
    judgeLadder(rungs).flatMap(({ name, mistakes }) => (mistakes.length ? [[name, mistakes]] : [])),
  );

const nothing = rung('nothing', [0, 0]);
const reference = rung('reference', [1, 1]);
const lost = { at: 'shell', code: 'sandbox_lost', blame: 'infrastructure', message: 'its sandbox is gone' };

test('rungs that rise by a step each, and cheats that get a step above nothing at most, are in order', () => {
  const cheat = rung('cheat', [0.1, 0]);
  expect(mistakesOf(nothing, rung('naive', [0.05]), rung('good', [0.1]), reference, cheat)).toEqual({});
});

test.each<[string, readonly Rung[], object]>([
  [
    'a rung that beats the one below by less than a step',
    [nothing, rung('naive', [0.5]), rung('good', [0.5, 0.54]), reference],
    { good: ['0.520 does not beat naive, 0.500, by 0.05'] },
  ],
  [
    'a rung that is compared with the best of those below, not with the nearest',
    [nothing, rung('naive', [0.8]), rung('good', [0.3]), rung('reference', [0.8])],
    {
      good: ['0.300 does not beat naive, 0.800, by 0.05'],
      reference: ['0.800 does not beat naive, 0.800, by 0.05'],
    },
  ],
  [
    'a reference that is worth no more than doing nothing, with no rung between',
    [nothing, rung('reference', [0])],
    { reference: ['0.000 does not beat nothing, 0.000, by 0.05'] },
  ],
  [
    'a cheat that is paid',
    [nothing, reference, rung('cheat', [0.06])],
    { cheat: ['a cheat is paid 0.060, and nothing may be paid more than 0.050'] },
  ],
  [
    'a mean above the range that was expected, though the order holds',
    [nothing, rung('good', [0.9, 0.7], { expect: [0.4, 0.6] }), reference],
    { good: ['0.800 is not between 0.4 and 0.6, as was expected'] },
  ],
  [
    'a grader that ended badly where nothing had run',
    [rung('nothing', [0], { broken: 'exit code 3' }), reference],
    { nothing: ['the grader is broken: nothing had run, and it ended badly: exit code 3'] },
  ],
])('%s is told', (_what, rungs, told) => {
  expect(mistakesOf(...rungs)).toEqual(told);
});

test('a ceiling is no rung: it may be below a good policy and above none, and is held to its own range alone', () => {
  const good = rung('good', [0.9]);
  expect(mistakesOf(nothing, good, rung('ceiling', [0.7]), reference)).toEqual({});
  expect(mistakesOf(nothing, good, rung('ceiling', [0]), reference)).toEqual({});
  expect(mistakesOf(nothing, rung('ceiling', [0.7], { expect: [0.75, 0.8] }), reference)).toEqual({
    ceiling: ['0.700 is not between 0.75 and 0.8, as was expected'],
  });
});

test('a lost rollout is no zero: the mean is of the others, and the loss is told with its blame', () => {
  const good = rung('good', [0.6], { expect: [0.6, 0.6], lost: [lost] });
  expect(mistakesOf(nothing, good, reference)).toEqual({
    good: [
      '1 of 2 rollouts have no score, and that is no zero: shell: its sandbox is gone (sandbox_lost, blame: infrastructure)',
    ],
  });
});

test('a policy of which every rollout was lost has no mean, so nothing is said of its place, and the ladder fails', () => {
  const told = mistakesOf(rung('nothing', [], { lost: [lost] }), reference, rung('cheat', [1]));
  expect(Object.keys(told)).toEqual(['nothing']);
});
