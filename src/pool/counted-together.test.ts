import { expect, test } from 'vitest';
import { fakeEnvironment, fakeOpenTemplate, fakeTemplate } from '#test/fakes/environment.ts';
import { environmentName, templateDigest } from '../model/ids.ts';
import type { TemplateCounts } from '../ports/fleet/pool.ts';
import { countedTogether } from './supply.ts';
import { planPools } from './plans.ts';

const countsOf = (template: string, given: Partial<TemplateCounts> = {}): TemplateCounts => ({
  template: templateDigest(template),
  ready: 1,
  launching: 2,
  held: 3,
  waiting: 4,
  oldestWaitMs: 6,
  announced: 5,
  breaker: 'closed',
  lastFailure: null,
  ...given,
});
const own = fakeEnvironment({ template: fakeTemplate({ digest: templateDigest('own') }) });
const open = { ...fakeEnvironment({ name: environmentName('rows') }), template: fakeOpenTemplate(['*']) };
const chosen = (digest: string) => ({
  environment: open,
  template: fakeTemplate({ digest: templateDigest(digest) }),
});

test('templates that rows made of one environment are shown as one, under their common bound; others each for itself', () => {
  const counts = [countsOf('own'), countsOf('a'), countsOf('b', { breaker: 'open' })];
  const plans = planPools([own], [], new Map(), [chosen('a'), chosen('b')]);
  const sum = { ready: 2, launching: 4, held: 6, waiting: 8, announced: 10, breaker: 'open' } as const;
  expect(countedTogether(counts, plans)).toEqual([
    { ...countsOf('own'), environments: [own.name], minReady: 2, max: 10 },
    { ...countsOf(open.version, sum), environments: ['rows'], minReady: 0, max: 10 },
  ]);
});
