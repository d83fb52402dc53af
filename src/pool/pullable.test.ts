import { expect, test } from 'vitest';
import { environmentVersion, templateDigest } from '../model/ids.ts';
import type { TemplateCounts } from '../ports/fleet/pool.ts';
import { pullable, type Wanted } from './pullable.ts';

const budget = 16;

/** A template of a row that wants so many launches. */
function row(launches: number, seen: Partial<TemplateCounts> = {}, max = 100): Wanted {
  const template = templateDigest('of-a-row');
  const none = { ready: 0, launching: 0, held: 0, waiting: launches, oldestWaitMs: 0, announced: 0 };
  return {
    counts: { template, ...none, breaker: 'closed', lastFailure: null, ...seen },
    target: { template, minReady: 0, max, chosenFor: environmentVersion('version-1') },
    launches,
  };
}

function own(launches: number): Wanted {
  const { counts, target } = row(launches);
  return { counts, target: { template: target.template, minReady: 0, max: target.max }, launches };
}

const held = { held: 1 };

test.each<[string, readonly Wanted[], number]>([
  ['an environment’s own image wants what it wants', [own(16)], 16],
  ['an image of a row gets a quarter of the slots at first', [row(9)], 4],
  ['what it has under way counts', [row(9, { launching: 3 })], 1],
  ['it gets half once one of its sandboxes stands', [row(16, held)], 8],
  ['those of which none stands get half together', [row(4), row(4), row(4)], 8],
  ['their starts under way count together', [row(4, { launching: 4 }), row(4, { launching: 4 })], 0],
  [
    'one that stands is not held up by those of which none does',
    [row(4, { launching: 4 }), row(4, { launching: 4 }), row(4, held)],
    4,
  ],
  [
    'the maximum of their environment holds for all together',
    [row(4, { held: 5 }, 10), row(4, { held: 3 }, 10)],
    2,
  ],
  ['an environment that is full wants none', [row(4, { held: 5 }, 10), row(4, { held: 5 }, 10)], 0],
  ['other environments are not held up', [row(4, { launching: 4 }), row(4, { launching: 4 }), own(5)], 5],
])('%s', (_name, wanted, launches) => {
  expect(pullable(wanted, budget)).toBe(launches);
});

test('the least is one slot', () => {
  expect(pullable([row(3)], 1)).toBe(1);
});
