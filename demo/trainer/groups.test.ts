import { describe, expect, it } from 'vitest';
import { recordOf } from '#test/builders/demo-records.ts';
import { groupsOf } from './groups.ts';

describe('the mean of a group', () => {
  const copies = [recordOf('t', 1), recordOf('t', 3), recordOf('t', 2), recordOf('t', 'sandbox_lost')];

  it('is 2.0 for 1, 3, 2 and a lost sandbox: what was discarded is not in it', () => {
    expect(groupsOf(copies, 'with')).toEqual([
      { task: 't', mean: 2, best: 3, spread: Math.sqrt(2 / 3), n: 3 },
    ]);
  });

  it('is 1.5 for a trainer that takes the lost sandbox for a zero', () => {
    expect(groupsOf(copies, 'without')[0]).toMatchObject({ mean: 1.5, best: 3, n: 4 });
  });

  it('is no number where every copy was discarded', () => {
    expect(groupsOf([recordOf('t', 'sandbox_lost')], 'with')).toEqual([
      { task: 't', mean: null, best: null, spread: null, n: 0 },
    ]);
  });
});
