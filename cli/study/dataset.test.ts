import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { alikePairs, jaccard, likenessBound, shinglesOf, studyDataset, type WordedRow } from './dataset.ts';

const nothing = { hidden: [], origins: [] };
const long = 'which of the pages of this company names what it paid for its buildings in the year';

describe('rows that are nearly the same', () => {
  test('are found whatever their ids, and whatever the grader alone sees', () => {
    const rows = [
      { id: 'a', question: `${long} 2014`, answer: '1' },
      { id: 'b', question: `${long} 2014`, answer: 'something else entirely that is long' },
      { id: 'c', question: 'how many shares are there' },
    ];
    const { nearDuplicates, pairs } = studyDataset(rows, null, { ...nothing, hidden: ['answer'] });
    expect(nearDuplicates).toBe(2);
    expect(pairs).toEqual([{ one: 'a', other: 'b', likeness: 1 }]);
  });

  test('a short question with another year is another question', () => {
    const rows = [{ q: 'what was the revenue of ETR in 2014' }, { q: 'what was the revenue of ETR in 2015' }];
    expect(studyDataset(rows, null, nothing).nearDuplicates).toBe(0);
  });

  test('are those that comparing each with each would find', () => {
    const word = constantFrom('a', 'b', 'c');
    const text = array(word, { minLength: 1, maxLength: 9 });
    assert(
      property(array(text, { maxLength: 12 }), array(text, { maxLength: 5 }), (one, other) => {
        const rows = named(one, 'row');
        const others = named(other, 'other');
        expect(namesIn(alikePairs(rows))).toEqual(namesIn(bruteForce(rows, null)));
        expect(othersIn(alikePairs(rows, others))).toEqual(othersIn(bruteForce(rows, others)));
      }),
    );
  });
});

const named = (texts: readonly (readonly string[])[], kind: string): readonly WordedRow[] =>
  texts.map((words, index) => ({ name: `${kind} ${index}`, words }));

type Pair = Pick<ReturnType<typeof alikePairs>[number], 'one' | 'other'>;
const namesIn = (pairs: readonly Pair[]) => new Set(pairs.flatMap(({ one, other }) => [one, other]));
const othersIn = (pairs: readonly Pair[]) => new Set(pairs.map(({ other }) => other));

const alike = (one: WordedRow, other: WordedRow) =>
  jaccard([...shinglesOf(one.words)], [...shinglesOf(other.words)]) >= likenessBound;

function bruteForce(rows: readonly WordedRow[], others: readonly WordedRow[] | null): readonly Pair[] {
  const pairs =
    others === null
      ? rows.flatMap((one, index) => rows.slice(index + 1).map((other) => [one, other] as const))
      : rows.flatMap((one) => others.map((other) => [one, other] as const));
  return pairs
    .filter(([one, other]) => alike(one, other))
    .map(([one, other]) => ({ one: one.name, other: other.name }));
}

test('of a prompt only the row’s own fields are compared: its other words are in every row', () => {
  const note = Array.from({ length: 80 }, (_, index) => `word${index}`).join(' ');
  const rows = [
    { id: 'a', question: 'how many shares are there', note },
    { id: 'b', question: 'who is the auditor', note },
  ];
  expect(studyDataset(rows, null, nothing).nearDuplicates).toBe(2);
  const prompt = { user: `${note} {item.question}` };
  expect(studyDataset(rows, null, { ...nothing, prompt }).nearDuplicates).toBe(0);
});

test('ten thousand rows of the same are found as that, in seconds', () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => ({ id: index, question: long }));
  expect(studyDataset(rows, null, nothing)).toMatchObject({ nearDuplicates: 10_000 });
});

describe('train and eval', () => {
  const train = [
    { id: 1, question: `${long} 2014`, document: 'ETR/2014' },
    { id: 2, question: 'how many shares are there', document: 'ABC/2014' },
  ];

  test('a row of both is found by its content, and a document of both by its field', () => {
    const evaluation = [
      { id: 9, question: `${long} 2014`, document: 'XYZ/2014' },
      { id: 10, question: 'who is the auditor of all this', document: 'ETR/2014' },
    ];
    const { overlap } = studyDataset(train, evaluation, nothing);
    expect(overlap).toMatchObject({ evalRows: 2, alike: 1, pairs: [{ one: '1', other: '9' }] });
    expect(overlap?.shared).toEqual([
      {
        by: 'document',
        shared: 1,
        train: { rows: 1, of: 2 },
        eval: { rows: 1, of: 2 },
        examples: ['"ETR/2014"'],
      },
    ]);
  });

  test('fields that are named are looked at instead of those that are guessed', () => {
    const { overlap } = studyDataset(train, [{ id: 9, document: 'ETR/2014' }], {
      ...nothing,
      origins: ['nowhere'],
    });
    expect(overlap).toMatchObject({ shared: [], origins: ['nowhere'] });
  });
});
