import { expect, it } from 'vitest';
import { settled } from '#test/fakes/clock.ts';
import { createTurns } from './turns.ts';

const { signal } = new AbortController();

it('many that wait for one registry let another one be next', async () => {
  const turns = createTurns({ ofOne: 1, ofAll: 1 });
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const ask = (registry: string, name: string) =>
    turns(registry, signal, () => {
      begun.push(name);
      return new Promise<void>((resolve) => void ends.push(resolve));
    });
  const all = [ask('slow', 'slow-1'), ask('slow', 'slow-2'), ask('slow', 'slow-3'), ask('other', 'other-1')];
  for (const end of [0, 1, 2, 3]) {
    await settled();
    ends[end]?.();
  }
  await Promise.all(all);
  expect(begun).toEqual(['slow-1', 'other-1', 'slow-2', 'slow-3']);
});

it('no registry has more than its part, and all together only theirs', async () => {
  const turns = createTurns({ ofOne: 2, ofAll: 3 });
  const begun: string[] = [];
  const never = (registry: string) =>
    void turns(registry, signal, () => {
      begun.push(registry);
      return new Promise<void>(() => undefined);
    });
  for (const registry of ['a', 'a', 'a', 'b', 'c']) never(registry);
  await settled();
  expect(begun).toEqual(['a', 'a', 'b']);
});

it('a wait ends when node stops', async () => {
  const turns = createTurns({ ofOne: 1, ofAll: 1 });
  const stopping = new AbortController();
  void turns('a', signal, () => new Promise<void>(() => undefined));
  const waiting = turns('a', stopping.signal, () => Promise.resolve());
  stopping.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'provider_unavailable' });
});
