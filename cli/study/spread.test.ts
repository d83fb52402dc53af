import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { copiesOf, rolloutOf } from '#test/builders/study-rollouts.ts';
import { bestOfK, itemsOf, levelsOf, partsOf, sharesOf } from './spread.ts';

describe('spread', () => {
  test('an item whose copies are paid alike moves nothing, at whatever level', () => {
    const items = itemsOf(copiesOf({ a: [0, 1], b: [0, 0], c: [1, 1], d: [0.5, 0.5] }));
    expect(items.map(({ item, says }) => [item, says])).toEqual([
      ['c', 'always 1'],
      ['a', 'spread'],
      ['d', 'alike'],
      ['b', 'always 0'],
    ]);
    expect(sharesOf(items)).toEqual({
      judged: 4,
      unknown: 0,
      spread: 0.25,
      always0: 0.25,
      always1: 0.25,
      alike: 0.25,
    });
  });

  test('a lost copy is no zero: it neither makes a spread nor takes from the mean', () => {
    const [item] = itemsOf(copiesOf({ a: [1, 1, null] }));
    expect(item).toMatchObject({ mean: 1, says: 'always 1', lost: 1, scores: [1, 1] });
    expect(itemsOf(copiesOf({ a: [null, null] }))).toEqual([]);
  });

  test('of an item with one score left nothing is said, and of none no share', () => {
    expect(sharesOf(itemsOf(copiesOf({ a: [1, null] })))).toMatchObject({
      judged: 0,
      unknown: 1,
      spread: null,
    });
  });

  test('rollouts of which nobody tells the item are in no item', () => {
    expect(itemsOf([rolloutOf('a', null, 1)])).toEqual([]);
  });
});

describe('best of k', () => {
  test('of one right copy in two, one is right half of the time and the better one always', () => {
    expect(bestOfK(itemsOf(copiesOf({ a: [0, 1] })))).toEqual([
      { k: 1, mean: 0.5 },
      { k: 2, mean: 1 },
    ]);
  });

  test('goes as far as every item has copies', () => {
    expect(bestOfK(itemsOf(copiesOf({ a: [0, 1, 1], b: [0, 0] }))).map(({ k }) => k)).toEqual([1, 2]);
  });

  test('begins at the mean, ends at the best, never falls, and is the mean over all choices', () => {
    const scores = array(constantFrom(0, 0.25, 0.5, 1), { minLength: 2, maxLength: 6 });
    assert(
      property(scores, (copies) => {
        const curve = bestOfK(itemsOf(copiesOf({ a: copies }))).map(({ mean }) => mean);
        for (const [index, value] of curve.entries()) {
          expect(value).toBeCloseTo(meanOfBest(copies, index + 1), 9);
          expect(value).toBeGreaterThanOrEqual((curve[index - 1] ?? 0) - 1e-9);
        }
      }),
    );
  });
});

/** By trying every choice. */
function meanOfBest(scores: readonly number[], k: number): number {
  const choices = subsets(scores, k).map((chosen) => Math.max(...chosen));
  return choices.reduce((sum, each) => sum + each, 0) / choices.length;
}

function subsets(list: readonly number[], k: number): readonly (readonly number[])[] {
  const [first, ...rest] = list;
  if (k === 0) return [[]];
  if (first === undefined) return [];
  return [...subsets(rest, k - 1).map((chosen) => [first].concat(chosen)), ...subsets(rest, k)];
}

test('levels are the scores that were given, whatever a sum of floats made of them', () => {
  const rollouts = copiesOf({ a: [0.1 + 0.2, 0.3, 0, null] });
  expect(levelsOf(rollouts)).toEqual([
    { score: 0, rollouts: 1 },
    { score: 0.3, rollouts: 2 },
  ]);
});

const part = (name: string, score: number | null) => ({ part: name, score, reason: '' });

test('a part that is the same in every rollout is told as constant', () => {
  const rollouts = [0, 1].map((score) =>
    rolloutOf(`r${score}`, 'a', score, {
      parts: [part('gate', score), part('gate > style', 1), part('gate > x', null)],
    }),
  );
  expect(partsOf(rollouts).map(({ part: name, constant, mean }) => [name, constant, mean])).toEqual([
    ['gate', false, 0.5],
    ['gate > style', true, 1],
  ]);
});
