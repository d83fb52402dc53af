import { expect, test } from 'vitest';
import { ConcurrencyLimit } from './concurrency-limit.ts';

test('at most two run at once, and each end, also a failure, lets the next begin', async () => {
  const limit = new ConcurrencyLimit(2);
  const begun: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<void>>();
  const run = (name: string) =>
    limit.run(() => {
      begun.push(name);
      const end = Promise.withResolvers<void>();
      ends.set(name, end);
      return end.promise;
    });
  const [a, b, c, d] = [run('a'), run('b'), run('c'), run('d')];
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
