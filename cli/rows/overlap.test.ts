import { expect, test } from 'vitest';
import { describeOverlap, overlapOf } from './overlap.ts';

const prompt = { user: 'In {item.repo}: {item.request}' };
const row = (id: string, repo: string, request: string) => ({ id, repo, request });

test('rows that share nothing have no overlap', () => {
  const train = [row('a', 'ajv', 'one')];
  expect(overlapOf(train, [row('b', 'pino', 'two')], { prompt, disjoint: ['repo'] })).toEqual([]);
});

test('a repeated row is seen by its id, its fields and its prompt, whatever the case and spaces of that', () => {
  const train = [row('a', 'ajv', 'one'), row('b', 'ajv', 'two')];
  const evaluated = [
    row('b', 'yaml', 'x'),
    row('c', 'ajv', 'one'),
    row('d', 'AJV', '  One'),
    row('e', 'v', 'w'),
  ];
  expect(overlapOf(train, evaluated, { prompt, disjoint: [] })).toEqual([
    { by: 'id', shared: 1, train: { rows: 1, of: 2 }, eval: { rows: 1, of: 4 }, examples: ['"b"'] },
    expect.objectContaining({ by: 'row', shared: 1, eval: { rows: 1, of: 4 } }),
    expect.objectContaining({ by: 'prompt', shared: 1, train: { rows: 1, of: 2 }, eval: { rows: 2, of: 4 } }),
  ]);
});

test('a field that must be disjoint is counted in rows, and a row without it shares nothing', () => {
  const train = [row('a', 'ajv', 'one'), row('b', 'ajv', 'two'), { id: 'c' }];
  const [shared] = overlapOf(train, [row('d', 'ajv', 'x'), { id: 'e' }], { disjoint: ['repo'] });
  expect(shared).toMatchObject({ by: 'repo', train: { rows: 2, of: 3 }, eval: { rows: 1, of: 2 } });
  expect(shared && describeOverlap(shared)).toBe(
    'warning: train and eval share 1 value of repo: 2 of 3 rows (67 %) of train, 1 of 2 rows (50 %) of eval, such as "ajv"',
  );
});
