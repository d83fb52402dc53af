import { expect, test } from 'vitest';
import type { Columns, FindingLine } from '#src/protocol/console/run.ts';
import { filterIn, matching, noFilter, queryOf, sorted } from './filter.ts';

const columns: Columns = {
  id: ['one', 'two', 'three'],
  attempt: [1, 1, 1],
  item: [0, 1, -1],
  step: [0, 0, 1],
  score: [0.5, null, 1],
  gain: [null, null, 0.2],
  code: [null, 'sandbox_lost', null],
  suspected: [false, true, false],
  calls: [3, 1, 3],
  strip: ['aaa', 'a', 'bbb'],
  opened_at_ms: [1, 2, 3],
  took_ms: [5, 5, null],
  output_bytes: [1, 2, 3],
};
const finding: FindingLine = {
  kind: 'habit',
  weight: 'bad',
  title: 't',
  what: null,
  text: '',
  rollouts: 1,
  rows: [2],
  by_step: [0, 1],
};
const rowsWith = (change: Partial<typeof noFilter>, found: ReadonlySet<number> | null = null) =>
  matching(
    columns,
    ['apple', 'pear'],
    [finding],
    { ...noFilter, ...change },
    found === null ? null : { text: change.text ?? '', rows: found },
  );

test('filters combine, and none shows all', () => {
  expect(rowsWith({})).toEqual([0, 1, 2]);
  expect(rowsWith({ step: 0 })).toEqual([0, 1]);
  expect(rowsWith({ step: 0, verdict: 'discarded' })).toEqual([1]);
  expect(rowsWith({ finding: 0 })).toEqual([2]);
  expect(rowsWith({ item: 1, verdict: 'scored' })).toEqual([]);
});

test('text is looked for in ids, items and codes, and in commands as far as the server found it', () => {
  expect(rowsWith({ text: 'APPLE' })).toEqual([0]);
  expect(rowsWith({ text: 'sandbox' })).toEqual([1]);
  expect(rowsWith({ text: 'grep' }, new Set([2]))).toEqual([2]);
});

test('an address keeps a filter, and a wrong one is no filter', () => {
  const filter = { ...noFilter, step: 3, text: 'a b&c', outputs: true, verdict: 'scored' as const };
  expect(filterIn(new URLSearchParams(queryOf(filter)))).toEqual(filter);
  expect(filterIn(new URLSearchParams('step=x&verdict=none'))).toEqual(noFilter);
});

test('a rollout without the value that is sorted by is last, either way', () => {
  expect(sorted(columns, [0, 1, 2], { key: 'score', down: true })).toEqual([2, 0, 1]);
  expect(sorted(columns, [0, 1, 2], { key: 'score', down: false })).toEqual([0, 2, 1]);
});
