import { expect, test } from 'vitest';
import { templateDigest } from '../model/ids.ts';
import type { TemplateCounts } from '../ports/fleet/pool.ts';
import { wantedLaunches, wantedTickets } from './sizing.ts';

const template = templateDigest('template-a');
const counts = (given: Partial<TemplateCounts> = {}): TemplateCounts => ({
  template,
  ready: 0,
  launching: 0,
  held: 0,
  waiting: 0,
  oldestWaitMs: 0,
  announced: 0,
  breaker: 'closed',
  lastFailure: null,
  ...given,
});

test.each([
  { why: 'an empty pool is filled', seen: {}, minReady: 4, max: 10, wanted: 4 },
  { why: 'a full pool wants nothing', seen: { ready: 4 }, minReady: 4, max: 10, wanted: 0 },
  { why: 'starts under way count as there', seen: { launching: 3 }, minReady: 4, max: 10, wanted: 1 },
  { why: 'who waits gets one beside the refill', seen: { waiting: 2 }, minReady: 4, max: 10, wanted: 6 },
  {
    why: 'an announced burst is made ready',
    seen: { ready: 4, announced: 8 },
    minReady: 4,
    max: 10,
    wanted: 4,
  },
  {
    why: 'a small burst is inside the minimum',
    seen: { ready: 4, announced: 3 },
    minReady: 4,
    max: 10,
    wanted: 0,
  },
  { why: 'an announced burst stops at the bound', seen: { announced: 99 }, minReady: 4, max: 10, wanted: 10 },
  { why: 'held ones are replaced', seen: { held: 4 }, minReady: 4, max: 10, wanted: 4 },
  { why: 'held ones count towards the bound', seen: { held: 8 }, minReady: 4, max: 10, wanted: 2 },
  { why: 'a burst stops at the bound', seen: { waiting: 500 }, minReady: 0, max: 10, wanted: 10 },
  {
    why: 'over the bound nothing is wanted',
    seen: { held: 12, waiting: 3 },
    minReady: 4,
    max: 10,
    wanted: 0,
  },
  {
    why: 'an open breaker gets one try',
    seen: { waiting: 9, breaker: 'open' },
    minReady: 0,
    max: 10,
    wanted: 1,
  },
  {
    why: 'a try that is out is awaited',
    seen: { waiting: 9, breaker: 'probing' },
    minReady: 0,
    max: 10,
    wanted: 0,
  },
  {
    why: 'an open breaker without need gets none',
    seen: { breaker: 'open' },
    minReady: 0,
    max: 10,
    wanted: 0,
  },
] as const)('$why', ({ seen, minReady, max, wanted }) => {
  expect(wantedLaunches(counts(seen), { template, minReady, max })).toBe(wanted);
});

test('tickets are the launches that are out and those wanted, over all templates, within the start budget', () => {
  const other = templateDigest('template-b');
  const seen = [counts({ launching: 2 }), counts({ template: other, waiting: 3 })];
  const targets = [
    { template, minReady: 3, max: 10 },
    { template: other, minReady: 0, max: 10 },
  ];
  expect(wantedTickets(seen, targets, 2, 100)).toBe(2 + 1 + 3);
  expect(wantedTickets(seen, targets, 2, 4)).toBe(4);
});

test('a template that nobody here can create wants no ticket', () => {
  expect(wantedTickets([counts({ waiting: 5 })], [], 0, 100)).toBe(0);
});
