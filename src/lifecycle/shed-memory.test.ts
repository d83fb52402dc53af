import { expect, test } from 'vitest';
import { createFakeLog } from '../../test/fakes/log.ts';
import type { FleetMemory, Leftover } from '../ports/fleet/memory.ts';
import { shedMemory } from './shed-memory.ts';

/** Each forgetting frees as much as it is told, one after another. */
function memoryOf(usedBytes: number, limitBytes: number | null, frees: readonly number[] = []) {
  const asked: Leftover[] = [];
  let used = usedBytes;
  const memory: FleetMemory = {
    usage: async () => ({ usedBytes: used, limitBytes }),
    forget: async (leftover) => {
      used -= frees[asked.length] ?? 0;
      asked.push(leftover);
      return 1;
    },
  };
  return { memory, asked };
}

test.each([
  ['below four fifths', 79, 100],
  ['without a limit', 1_000, null],
])('a Redis %s forgets nothing and says nothing', async (_name, used, limit) => {
  const { memory, asked } = memoryOf(used, limit);
  const log = createFakeLog();
  await shedMemory(memory, log);
  expect(asked).toEqual([]);
  expect(log.lines).toEqual([]);
});

test('at four fifths summaries go first, only as many as it takes, and it is said', async () => {
  const { memory, asked } = memoryOf(80, 100, [2, 3, 50]);
  const log = createFakeLog();
  await shedMemory(memory, log);
  expect(asked).toEqual(['summaries', 'summaries']);
  expect(log.lines).toMatchObject([
    { level: 'warn', fields: { before_bytes: 80, after_bytes: 75, summaries: 2 } },
  ]);
});

test('answers go when summaries were not enough, and where nothing helps an operator is told what to do', async () => {
  const { memory, asked } = memoryOf(95, 100);
  const log = createFakeLog();
  await shedMemory(memory, log);
  expect(asked.indexOf('answers')).toBe(4);
  expect(log.lines).toMatchObject([
    { level: 'error', message: expect.stringContaining('raise its maxmemory') },
  ]);
});
