import { expect, test } from 'vitest';
import { bytes, duration, score } from './amounts.ts';
import { table } from './table.ts';

const rows = [
  { name: 'short', count: 5, note: 'a very long note that nobody can read' },
  { name: 'much longer', count: 1200, note: '' },
];
const columns = [
  { title: 'name', of: (row: (typeof rows)[number]) => row.name },
  { title: 'count', of: (row: (typeof rows)[number]) => String(row.count), right: true },
  { title: 'note', of: (row: (typeof rows)[number]) => row.note },
];

test('columns line up, numbers to the right, and no line ends in spaces', () => {
  expect(table(rows, columns).split('\n')).toEqual([
    'name         count  note',
    'short            5  a very long note that nobody can read',
    'much longer   1200',
  ]);
});

test('a narrow terminal cuts lines and says so', () => {
  expect(table(rows, columns, 30).split('\n')[1]).toBe('short            5  a very lo…');
});

test.each([
  [null, '–'],
  [820.4, '820 ms'],
  [4200, '4.2 s'],
  [200_000, '3 min 20 s'],
])('%s milliseconds read %s', (ms, text) => expect(duration(ms)).toBe(text));

test.each([
  [512, '512 B'],
  [3400, '3.4 kB'],
  [1_200_000, '1.2 MB'],
])('%s bytes read %s', (count, text) => expect(bytes(count)).toBe(text));

test('what was not scored is a dash and never a zero', () => {
  expect([score(null), score(0)]).toEqual(['–', '0.000']);
});

test('a cell of a table is one line, and as wide as it is shown', () => {
  const columns = [
    { title: 'one', of: ([one]: readonly string[]) => one ?? '' },
    { title: 'two', of: ([, two]: readonly string[]) => two ?? '' },
  ];
  expect(table([['a\nverdict scorable', 'b']], columns)).toBe(
    ['one                      two', String.raw`a\u000averdict scorable  b`].join('\n'),
  );
});
