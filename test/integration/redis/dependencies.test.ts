import { expect, test } from 'vitest';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { keyOf, minute, second, worldOfTests } from './world.ts';

const world = worldOfTests();

const probed = { probe: 'http://search:9200/_health', everyMs: 5 * second };
const other = { probe: 'http://search:9200/_health', everyMs: 6 * second };
const store = () => world.fleet.dependencies;
const read = (sinceMs = 0, of = probed) => store().read(of, keyOf('a'), sinceMs);

test('one asker an interval gets the turn, and the others hear when the next one is due', async () => {
  expect(await store().takeTurn(probed)).toEqual({
    isMine: true,
    nowMs: world.nowMs(),
    nextInMs: 5 * second,
  });
  await world.step(2 * second);
  expect(await store().takeTurn(probed)).toMatchObject({ isMine: false, nextInMs: 3 * second });
  expect(await store().takeTurn(other)).toMatchObject({ isMine: true });
  await world.step(3 * second);
  expect(await store().takeTurn(probed)).toMatchObject({ isMine: true });
});

test('a clock that was set back does not stop the probes', async () => {
  await store().takeTurn(probed);
  await world.step(-minute);
  expect(await store().takeTurn(probed)).toMatchObject({ isMine: true });
});

test('results are read by their end, on one clock, and with why they failed', async () => {
  const beganAtMs = world.nowMs();
  await world.step(second);
  await store().record(probed, beganAtMs, 'answered 503');
  await world.step(5 * second);
  await store().record(probed, world.nowMs(), null);
  const [failed, good] = (await read()).results;
  expect(failed).toEqual({ beganAtMs, endedAtMs: beganAtMs + second, failed: 'answered 503' });
  expect(good).toMatchObject({ failed: null });
  expect((await read(beganAtMs + second + 1)).results).toEqual([good]);
  expect(await read(0, other)).toMatchObject({ results: [], goodAtMs: null });
  expect(await read()).toMatchObject({ goodAtMs: world.nowMs(), nowMs: world.nowMs(), recoveredAtMs: null });
});

test('results older than any call are let go of, and a reason is cut', async () => {
  await store().record(probed, world.nowMs(), 'x'.repeat(1_000));
  await world.step(76 * minute);
  await store().record(probed, world.nowMs(), 'y'.repeat(1_000));
  const { results } = await read();
  expect(results.map(({ failed }) => failed)).toEqual(['y'.repeat(120)]);
});

test('the calls of two minutes are counted by run', async () => {
  for (let call = 0; call < 3; call += 1) await store().count(probed, keyOf('a'));
  await store().count(probed, keyOf('b', 'run-2'));
  expect((await read()).load).toEqual({ ofRun: 3, ofAll: 4 });
  await world.step(minute);
  expect((await read()).load).toEqual({ ofRun: 3, ofAll: 4 });
  await world.step(minute);
  expect((await read()).load).toEqual({ ofRun: 0, ofAll: 0 });
});

test('a Redis that was recovered says since when', async () => {
  const recoveredAtMs = world.nowMs();
  await world.redis.set(keysOf('test')('recovered'), recoveredAtMs);
  expect(await read()).toMatchObject({ recoveredAtMs });
});
