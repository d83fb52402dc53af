import { describe, expect, it } from 'vitest';
import { isAlive, lineageOf, parseStat, type ProcessRow, treeOf } from './process-table.ts';

function row(pid: number, parent: number, session: number, group = session): ProcessRow {
  return { pid, parent, session, group, state: 'S', threads: 1, startTicks: pid };
}
const pids = (rows: readonly ProcessRow[]) => rows.map(({ pid }) => pid);

describe('treeOf', () => {
  const table = [
    row(1, 0, 0),
    row(2, 1, 1),
    row(10, 2, 10), // the command
    row(11, 10, 10), // its child
    row(12, 1, 10), // orphaned, but still in the session
    row(13, 11, 13), // a session of its own, below the child
    row(14, 13, 14), // and one below that
    row(20, 2, 20), // another command
  ];

  it('takes the session, orphans in it, and descendants in other sessions', () => {
    expect(pids(treeOf(10, table))).toEqual([10, 11, 12, 13, 14]);
  });

  it('follows a known member whose parent has gone', () => {
    const orphaned = [row(1, 0, 0), row(13, 1, 13), row(14, 13, 14), row(20, 1, 20)];
    expect(pids(treeOf(10, orphaned, new Set([13])))).toEqual([13, 14]);
  });

  it('finds members that the table lists before their parents', () => {
    expect(pids(treeOf(10, table.toReversed())).toSorted((a, b) => a - b)).toEqual([10, 11, 12, 13, 14]);
  });
});

describe('lineageOf', () => {
  it('names a process and every ancestor', () => {
    expect([...lineageOf(11, [row(1, 0, 0), row(2, 1, 1), row(11, 2, 2), row(12, 2, 2)])]).toEqual([
      11, 2, 1, 0,
    ]);
  });
});

describe('parseStat', () => {
  it('reads past a program name that looks like fields', () => {
    const stat = `42 (a) S (b c) S 7 41 40 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2`;
    expect(parseStat(stat)).toEqual({
      pid: 42,
      state: 'S',
      threads: 1,
      parent: 7,
      group: 41,
      session: 40,
      startTicks: 98765,
    });
  });

  it.each([
    ['Z', 1, false],
    ['Z', 2, true],
    ['X', 1, false],
    ['T', 1, true],
  ])('in state %s with %i threads: alive is %s', (state, threads, alive) => {
    expect(isAlive({ ...row(1, 0, 0), state, threads })).toBe(alive);
  });

  it('gives nothing for text that is no such line', () => {
    expect(parseStat('')).toBeNull();
  });
});
