import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { sandboxId } from '../model/ids.ts';
import { Deadline } from '../waiting/deadline.ts';
import { StdinPlaces } from './stdin-places.ts';

const [one, other] = [sandboxId('one'), sandboxId('other')];

/** So many requests for a sandbox whose commands do not read: each is held until it is released. */
function held(count: number) {
  const clock = createFakeClock();
  const places = new StdinPlaces(clock);
  const releases: (() => void)[] = [];
  const ask = (sandbox = one, waitMs = 20_000) =>
    places.hold(sandbox, Deadline.in(clock, waitMs), () => {
      const { promise, resolve } = Promise.withResolvers<string>();
      releases.push(() => resolve('taken'));
      return promise;
    });
  const asked = Array.from({ length: count }, () => ask());
  return { clock, ask, asked, releases };
}

test('of many requests with stdin for one sandbox eight are there at once, and each that ends lets the next one in', async () => {
  const { clock, asked, releases } = held(20);
  await clock.advance(0);
  expect(releases).toHaveLength(8);
  for (let index = 0; index < 20; index += 1) {
    releases[index]?.();
    await clock.advance(0);
  }
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 20 }, () => 'taken'));
});

test('requests for another sandbox do not wait', async () => {
  const { clock, ask, releases } = held(9);
  const elsewhere = ask(other);
  await clock.advance(0);
  expect(releases).toHaveLength(9);
  releases.at(-1)?.();
  expect(await elsewhere).toBe('taken');
});

test('a request that finds no place in time does nothing, and leaves none behind', async () => {
  const { clock, ask, releases, asked } = held(8);
  const late = ask(one, 1_000);
  await clock.advance(1_000);
  expect(await late).toBeNull();
  for (const release of releases) release();
  await Promise.all(asked);
  const next = ask();
  await clock.advance(0);
  releases.at(-1)?.();
  expect(await next).toBe('taken');
});
