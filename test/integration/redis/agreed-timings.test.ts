import { expect, test } from 'vitest';
import type { ProcessWord } from '#src/ports/fleet/watch.ts';
import { second, worldOfTests } from './world.ts';

const world = worldOfTests();

const silentOnTimings: ProcessWord = {
  kind: 'gateway',
  host: 'pod-1',
  pid: 1,
  version: '0.2.0',
  ageMs: 0,
  state: 'serving',
  inHand: {},
  atMost: {},
  verdicts: {},
  knowsDemands: true,
};

const wordOf = (changes: Partial<ProcessWord> = {}): ProcessWord => ({
  ...silentOnTimings,
  timings: {},
  agreed: true,
  ...changes,
});

const short = { openingMs: 1_000, longestLineMs: 2_000 };
const shorter = { openingMs: 500 };
const agree = (process: string, changes: Partial<ProcessWord> = {}) =>
  world.fleet.watch.agree(process, wordOf(changes));
const tell = (process: string, changes: Partial<ProcessWord> = {}) =>
  world.fleet.watch.tell(process, wordOf(changes));
const known = async () => (await world.fleet.watch.read([])).processes.map(({ timings }) => timings);

test('the first process of a release is noted with its timings, and one with the same follows', async () => {
  expect(await agree('p1', { timings: short })).toBeNull();
  expect(
    await agree('p2', { kind: 'controller', timings: { longestLineMs: 2_000, openingMs: 1_000 } }),
  ).toBeNull();
  expect(await known()).toEqual([short, short]);
});

test.each([
  ['a change', short, {}],
  ['the defaults', {}, short],
  ['another value', short, { ...short, openingMs: 999 }],
  ['one change less', short, { openingMs: 1_000 }],
])('a process with %s gets the timings that run, and is not noted', async (_, running, own) => {
  await agree('p1', { timings: running });
  expect(await agree('p2', { timings: own })).toEqual(running);
  expect(await known()).toEqual([running]);
});

test('of ten processes that start together with two sets of timings, all that are noted have the same', async () => {
  const asked = Array.from({ length: 10 }, (_, n) => agree(`p${n}`, { timings: n % 2 === 0 ? short : {} }));
  const refused = (await Promise.all(asked)).filter((others) => others !== null);
  expect(refused).toHaveLength(5);
  expect(new Set((await known()).map((timings) => JSON.stringify(timings))).size).toBe(1);
});

test('a process of another release, one that left, and one that only waits itself do not count', async () => {
  await tell('older', { version: '0.1.0', timings: short });
  await tell('ended', { timings: short, state: 'left' });
  await world.fleet.watch.tell('waits', { ...silentOnTimings, timings: short, unready: 'other timings' });
  expect(await agree('p1')).toBeNull();
});

test('a process that says nothing of its timings does not count', async () => {
  await world.fleet.watch.tell('p1', silentOnTimings);
  expect(await agree('p2', { timings: short })).toBeNull();
});

test('a process that was killed counts until it has been silent for 10 s', async () => {
  await agree('p1', { timings: short });
  await world.step(10 * second);
  expect(await agree('p2')).toEqual(short);
  await world.step(1);
  expect(await agree('p2')).toBeNull();
});

test('timings that replace those of the fleet are noted next to them, and old ones may start again until the change is over', async () => {
  await agree('old', {});
  expect(await agree('new', { timings: short, replacedTimings: {} })).toBeNull();
  // A pod of the old ones that was evicted meanwhile.
  expect(await agree('old again', {})).toBeNull();
  expect(await agree('other', { timings: shorter })).not.toBeNull();
  await tell('old', { state: 'left' });
  await tell('old again', { state: 'left' });
  await tell('new', { timings: short });
  expect(await agree('late', {})).toEqual(short);
});

test('a replacement of timings that the fleet does not have is refused', async () => {
  await agree('p1', { timings: short });
  expect(await agree('p2', { timings: shorter, replacedTimings: {} })).toEqual(short);
});

test('a Redis that has forgotten learns the timings again from the heartbeats of the running processes', async () => {
  await agree('p1', { timings: short });
  await world.reset();
  await tell('p1', { timings: short });
  expect(await agree('p2')).toEqual(short);
});

test('no process is noted beside one of a release before the previous one, nor for a day after the previous release met one', async () => {
  const { knowsDemands: _, ...older } = silentOnTimings;
  await world.fleet.watch.tell('older', older);
  expect(await agree('p1')).toBe('release_skipped');
  await world.fleet.watch.tell('older', { ...older, state: 'left' });
  expect(await agree('p1')).toBeNull();
  await world.redis.set('corral:{test}:older-heard', world.nowMs());
  expect(await agree('p2')).toBe('release_skipped');
});
