import { expect, test } from 'vitest';
import { environmentVersion, templateDigest } from '../model/ids.ts';
import type { TemplateCounts } from '../ports/fleet/pool.ts';
import { countedTogether } from './counted-together.ts';

const countsOf = (template: string, given: Partial<TemplateCounts> = {}): TemplateCounts => ({
  template: templateDigest(template),
  ready: 1,
  launching: 2,
  held: 3,
  waiting: 4,
  announced: 5,
  breaker: 'closed',
  lastFailure: null,
  ...given,
});
const own = { template: templateDigest('own'), minReady: 0, max: 10 };
const chosen = (template: string) => ({
  ...own,
  template: templateDigest(template),
  chosenFor: environmentVersion('version-1'),
});

test('templates that rows made of one environment are shown as one, others each for itself', () => {
  const counts = [countsOf('own'), countsOf('a'), countsOf('b', { breaker: 'open' })];
  expect(countedTogether(counts, [own, chosen('a'), chosen('b')])).toEqual([
    countsOf('own'),
    countsOf('version-1', { ready: 2, launching: 4, held: 6, waiting: 8, announced: 10, breaker: 'open' }),
  ]);
});
