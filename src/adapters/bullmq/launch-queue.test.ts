import { expect, test } from 'vitest';
import { freeSlots } from './launch-queue.ts';

test.each([
  { taken: [], count: 2, max: 4, slots: ['slot-0', 'slot-1'], why: 'an empty queue gets the lowest slots' },
  { taken: ['slot-0'], count: 2, max: 4, slots: ['slot-1'], why: 'what is there counts' },
  { taken: ['slot-1-x1'], count: 2, max: 4, slots: ['slot-0'], why: 'a free lower slot is used first' },
  { taken: ['slot-3'], count: 1, max: 4, slots: [], why: 'a running ticket is enough' },
  { taken: [], count: 9, max: 2, slots: ['slot-0', 'slot-1'], why: 'never more than the bound' },
  { taken: ['slot-0', 'slot-1'], count: 0, max: 2, slots: [], why: 'nothing is wanted' },
])('$why', ({ taken, count, max, slots }) => {
  expect(freeSlots(taken, count, max)).toEqual(slots);
});
