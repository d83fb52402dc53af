import { describe, expect, it } from 'vitest';
import type { Random } from '#src/ports/random.ts';

/** What ids and back-offs rely on, the same for every source of chance. */
export function describeRandom(name: string, create: () => Random): void {
  describe(`random contract: ${name}`, () => {
    it.each([1, 8, 16, 24])('an id of %i characters has them, from the alphabet of ids', (length) => {
      expect(create().text(length)).toMatch(new RegExp(`^[0-9a-z]{${length}}$`));
    });

    it('ids do not repeat', () => {
      const random = create();
      expect(new Set(Array.from({ length: 500 }, () => random.text(12))).size).toBe(500);
    });

    it('fractions are at least 0 and below 1, and spread', () => {
      const random = create();
      const fractions = Array.from({ length: 500 }, () => random.next());
      expect(Math.min(...fractions)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...fractions)).toBeLessThan(1);
      expect(Math.max(...fractions) - Math.min(...fractions)).toBeGreaterThan(0.5);
    });
  });
}
