import { expect, test } from 'vitest';
import { Turns } from './turns.ts';

test('so much work runs at once, and each end lets the next begin, also one that fails', async () => {
  const turns = new Turns(2);
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const take = (name: string) =>
    turns.take(() => {
      begun.push(name);
      const end = Promise.withResolvers<void>();
      ends.set(name, end);
      return end.promise;
    });
  const [a, b, c, d] = [take('a'), take('b'), take('c'), take('d')];
  expect(begun).toEqual(['a', 'b']);
  ends.get('b')?.reject(new Error('broke off'));
  await expect(b).rejects.toThrow('broke off');
  await expect.poll(() => begun).toEqual(['a', 'b', 'c']);
  ends.get('a')?.resolve();
  await a;
  await expect.poll(() => begun).toEqual(['a', 'b', 'c', 'd']);
  for (const name of ['c', 'd']) ends.get(name)?.resolve();
  await Promise.all([c, d]);
});
