import { expect, test } from 'vitest';
import { createFakeLog } from '#test/fakes/log.ts';
import type { FleetMemory, Leftover } from '../ports/fleet/server.ts';
import { shedMemory } from './shed-memory.ts';

/** Each forgetting frees as much as it is told, one after another. */
function memoryOf(usedBytes: number, limitBytes: number | null, frees: readonly number[] = []) {
  const asked: Leftover[] = [];
  const refused: number[] = [];
  let used = usedBytes;
  const memory: FleetMemory = {
    usage: async () => ({ usedBytes: used, limitBytes }),
    forget: async (leftover) => {
      used -= frees[asked.length] ?? 0;
      asked.push(leftover);
      return 1;
    },
    refuseOpens: async (forMs) => void refused.push(forMs),
  };
  return { memory, asked, refused };
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

test('at four fifths details go first, then summaries, only as many as it takes, and it is said', async () => {
  const { memory, asked, refused } = memoryOf(80, 100, [2, 3, 50]);
  const log = createFakeLog();
  await shedMemory(memory, log);
  expect(asked).toEqual(['details', 'summaries']);
  expect(log.lines).toMatchObject([
    { level: 'warn', fields: { before_bytes: 80, after_bytes: 75, summaries: 1, details: 1 } },
  ]);
  expect(refused).toEqual([]);
});

test('what repeats get goes when that was not enough, the oldest first', async () => {
  const { memory, asked, refused } = memoryOf(89, 100);
  const log = createFakeLog();
  await shedMemory(memory, log);
  expect(asked).toEqual(['details', 'summaries', 'summaries']);
  expect(log.lines).toMatchObject([
    { level: 'error', message: expect.stringContaining('raise its maxmemory') },
  ]);
  expect(refused).toEqual([]);
});

test('at nine tenths with nothing left to forget, nothing is opened for a while', async () => {
  const { memory, refused } = memoryOf(90, 100);
  const log = createFakeLog();
  await shedMemory(memory, log);
  expect(refused).toEqual([30_000]);
  expect(log.lines).toMatchObject([
    { level: 'error', message: expect.stringContaining('no rollout is opened') },
  ]);
});

test('at nine tenths of which enough is forgotten, rollouts go on being opened', async () => {
  const { memory, refused } = memoryOf(95, 100, [30]);
  await shedMemory(memory, createFakeLog());
  expect(refused).toEqual([]);
});
