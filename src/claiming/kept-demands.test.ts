import { expect, test } from 'vitest';
import { demandedAmounts, keepDemands, sandboxDemands } from './kept-demands.ts';

test('a task that demands nothing keeps nothing', () => {
  expect(keepDemands(null, null)).toBeNull();
  expect([sandboxDemands(null), demandedAmounts(null)]).toEqual([null, null]);
});

test('amounts and what a sandbox has to show are kept together, and each is read by itself', () => {
  const kept = keepDemands({ workdir: '/app' }, { memoryBytes: 2 ** 30 });
  expect(sandboxDemands(kept)).toEqual({ workdir: '/app' });
  expect(demandedAmounts(kept)).toEqual({ memoryBytes: 2 ** 30 });
});

test('that its disk is added to its memory is kept, too', () => {
  const amounts = { diskBytes: 2 ** 30, diskIsMemory: true } as const;
  expect(demandedAmounts(keepDemands(null, amounts))).toEqual(amounts);
});

test('what the previous release has kept has no amounts', () => {
  expect(demandedAmounts('{"workdir":"/app"}')).toBeNull();
});

test.each([-1, 0, 2 ** 60, '4Gi', null])(
  'what a sandbox has told and is no amount is left out: %j',
  (told) => {
    const needs = JSON.stringify({ amounts: { memoryBytes: told, cpuMilli: 2_000, more: 1 } });
    expect(demandedAmounts(needs)).toEqual({ cpuMilli: 2_000 });
  },
);

test.each(['', 'null', '7', '{', '{"amounts":null}', '{"amounts":7}'])(
  'what a sandbox has told and is no record of demands demands nothing: %s',
  (told) => {
    expect(demandedAmounts(told)).toBeNull();
    expect(sandboxDemands(told)).toEqual({});
  },
);
