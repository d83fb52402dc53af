import { expect, test } from 'vitest';
import { fakeKnown } from '#test/fakes/pool-store.ts';
import { sandboxId } from '../model/ids.ts';
import type { Moved } from '../ports/fleet/pool.ts';
import { KnownSandboxes } from './known-sandboxes.ts';

const [one, other, third] = [sandboxId('one'), sandboxId('other'), sandboxId('third')];
const nothing: Moved = { place: 'next', startsOver: false, isWhole: false, isBehind: false, sandboxes: [] };
const failure = new Error('Redis is away');

/** What fleet state answers to one reading after another; nothing once that is used up. */
function told(...answers: (Partial<Moved> | Error)[]) {
  const places: string[] = [];
  const moved = async (place: string) => {
    places.push(place);
    const answer = answers.shift() ?? nothing;
    if (answer instanceof Error) throw answer;
    return { ...nothing, ...answer };
  };
  const known = new KnownSandboxes({ moved });
  const heard: string[] = [];
  known.onKnown((sandbox, now) => void heard.push(`${sandbox} ${now?.phase ?? 'gone'}`));
  return { known, heard, places, names: async () => [...(await known.read()).keys()] };
}

const all = (...sandboxes: (typeof one)[]): Partial<Moved> => ({
  isWhole: true,
  sandboxes: sandboxes.map((sandbox) => [sandbox, fakeKnown()]),
});

test('the first reading goes on until it has seen all, a portion at a time', async () => {
  const { names, places } = told(
    { startsOver: true, place: 'a', sandboxes: [[one, fakeKnown()]] },
    { place: 'b', sandboxes: [[other, fakeKnown()]] },
    { place: 'c', isWhole: true },
  );
  expect(await names()).toEqual([one, other]);
  expect(places).toEqual(['', 'a', 'b']);
});

test('later ones hear what has moved, and who is forgotten', async () => {
  const { names, heard } = told(
    { startsOver: true, ...all(one, other) },
    {
      sandboxes: [
        [one, null],
        [other, fakeKnown({ phase: 'draining' })],
      ],
    },
  );
  await names();
  heard.length = 0;
  expect(await names()).toEqual([other]);
  expect(heard).toEqual(['one gone', 'other draining']);
});

test('who has not come in a whole turn is there no more, though nobody said so; who moved meanwhile is', async () => {
  const { names, heard } = told(
    { startsOver: true, ...all(one, other) },
    { sandboxes: [[third, fakeKnown()]] },
    all(other),
  );
  await names();
  expect(await names()).toEqual([one, other, third]);
  expect(await names()).toEqual([other, third]);
  expect(heard.at(-1)).toBe('one gone');
});

test('where the place says nothing any more, all is read again, and what is not found is gone', async () => {
  const { names, places } = told(
    { startsOver: true, ...all(one, other) },
    { startsOver: true, place: 'other redis', sandboxes: [[third, fakeKnown()]] },
    { ...all(one), place: 'whole' },
  );
  await names();
  expect(await names()).toEqual([one, third]);
  expect(places.slice(1)).toEqual(['next', 'other redis']);
});

test('a reading that fails half-way goes on where it was, and nobody is forgotten for it', async () => {
  const { names, known, heard } = told(
    { startsOver: true, ...all(one, other) },
    { startsOver: true, place: 'half', sandboxes: [[one, fakeKnown()]] },
    failure,
    all(other),
  );
  await names();
  await expect(known.read()).rejects.toThrow('Redis is away');
  expect(await names()).toEqual([one, other]);
  expect(heard).not.toContain('other gone');
});

test('more moves than one reading tells are read at once', async () => {
  const { names } = told(
    { startsOver: true, ...all(one) },
    { isBehind: true, sandboxes: [[other, fakeKnown()]] },
    { sandboxes: [[third, fakeKnown()]] },
  );
  await names();
  expect(await names()).toEqual([one, other, third]);
});

test('who reads while another does gets what is true after its own call', async () => {
  const { known, places } = told({ startsOver: true, ...all(one) });
  await Promise.all([known.read(), known.read()]);
  expect(places).toHaveLength(2);
});
