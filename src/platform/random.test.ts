import { expect, test } from 'vitest';
import { systemRandom } from './random.ts';

test('ids have their length, the alphabet of ids, and do not repeat', () => {
  const ids = Array.from({ length: 200 }, () => systemRandom.text(12));
  for (const id of ids) expect(id).toMatch(/^[0-9a-z]{12}$/);
  expect(new Set(ids).size).toBe(200);
});

test('fractions are in [0, 1) and spread', () => {
  const fractions = Array.from({ length: 500 }, () => systemRandom.next());
  expect(Math.min(...fractions)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...fractions)).toBeLessThan(1);
  expect(Math.max(...fractions) - Math.min(...fractions)).toBeGreaterThan(0.5);
});
