import { describe, expect, it } from 'vitest';
import { ownerInside, idMap } from './shifted-ids.ts';

/** What a kernel with this map makes of an id. */
function mapped(map: string, id: number): number | undefined {
  for (const line of map.trim().split('\n')) {
    const [first = 0, to = 0, count = 0] = line.split(' ').map(Number);
    if (id >= first && id < first + count) return to + id - first;
  }
  return undefined;
}

const base = 1_000_000;

describe.each([1, 33, 999, 1000, 1001, 1005, 65_534, 65_535])('an image whose user has the id %i', (user) => {
  it('maps each id once, and to the id that it has inside', () => {
    const map = idMap(base, user);
    const counts = map
      .trim()
      .split('\n')
      .map((line) => Number(line.split(' ')[2]));
    expect(counts.reduce((sum, each) => sum + each)).toBe(65_536);
    expect(counts.every((each) => each > 0)).toBe(true);
    for (const id of [0, 1, 32, 33, 34, 999, 1000, 1001, 1004, 1005, 1006, 65_534, 65_535])
      expect(mapped(map, id), String(id)).toBe(base + ownerInside(id, user));
  });

  it('makes its files the commands’, and only these', () => {
    const owned = Array.from({ length: 65_536 }, (_, id) => id).filter(
      (id) => ownerInside(id, user) === 1000,
    );
    expect(owned).toEqual([user]);
  });
});

it('an id beyond those of a sandbox is that of no user', () => {
  expect(ownerInside(70_000, 1000)).toBe(65_534);
});
