import { expect, it } from 'vitest';
import { eachOf } from './play.ts';

it('work that is read from a disk is taken piece by piece, as it can be done, and its results keep its order', async () => {
  let taken = 0;
  let done = 0;
  let mostInMemory = 0;
  async function* work() {
    for (let piece = 0; piece < 50; piece += 1) {
      taken += 1;
      mostInMemory = Math.max(mostInMemory, taken - done);
      yield piece;
    }
  }
  const results = await eachOf(work(), 4, async (piece, index) => {
    // Later ones end first.
    await new Promise((resolve) => setTimeout(resolve, (3 - (piece % 4)) * 2));
    done += 1;
    return [piece, index];
  });
  expect(results).toEqual(Array.from({ length: 50 }, (_, piece) => [piece, piece]));
  expect(mostInMemory).toBeLessThanOrEqual(4);
});

it('the first piece that fails is told, and no further one is begun', async () => {
  const begun: number[] = [];
  const all = eachOf(
    Array.from({ length: 20 }, (_, piece) => piece),
    2,
    async (piece) => {
      begun.push(piece);
      await Promise.resolve();
      if (piece === 3) throw new Error('piece 3 failed');
    },
  );
  await expect(all).rejects.toThrow('piece 3 failed');
  expect(begun.length).toBeLessThan(8);
});
