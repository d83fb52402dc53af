import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { PacedReading, restAfter } from './paced-reading.ts';

/** A Redis whose readings take `costMs`; it counts the time that they took in all. */
function slowRedis(costMs: number, gateways: number) {
  const clock = createFakeClock();
  let spentMs = 0;
  const pacers = Array.from(
    { length: gateways },
    () =>
      new PacedReading({
        clock,
        read: async () => {
          spentMs += costMs;
          if (costMs > 0) await clock.sleep(costMs);
          return { costMs };
        },
        restMs: (reading) => restAfter(reading.costMs, gateways),
      }),
  );
  const ask = (gateway: number) => {
    const pacer = pacers[gateway];
    if (pacer === undefined) throw new Error(`there is no gateway ${gateway}`);
    return pacer.get();
  };
  return { clock, ask, spentMs: () => spentMs, gateways };
}

/** Everybody asks every 100 ms for ten minutes. */
async function watchFor(durationMs: number, redis: ReturnType<typeof slowRedis>): Promise<void> {
  for (let passed = 0; passed < durationMs; passed += 100) {
    for (let gateway = 0; gateway < redis.gateways; gateway += 1) void redis.ask(gateway);
    await redis.clock.advance(100);
  }
}

test.each([
  ['short', 2, 1],
  ['long', 400, 1],
  ['long', 400, 5],
  ['very long', 3_000, 2],
])(
  'readings that are %s (%i ms) take at most a twentieth of Redis’ time, though %i gateways are asked all the time',
  async (_name, costMs, gateways) => {
    const redis = slowRedis(costMs, gateways);
    const durationMs = 10 * 60_000;
    await watchFor(durationMs, redis);
    // One reading more, which begins before the others have had their rest.
    expect(redis.spentMs()).toBeLessThanOrEqual(0.05 * durationMs + costMs * gateways);
    expect(redis.spentMs()).toBeGreaterThan(0);
  },
  30_000,
);

test('a short reading is done again every second and no sooner, and who asks between gets it with its age', async () => {
  const { clock, ask } = slowRedis(0, 1);
  const first = await ask(0);
  await clock.advance(400);
  const between = await ask(0);
  expect([first.ageMs, between.ageMs, between.nextInMs]).toEqual([0, 400, 600]);
  expect(between.reading).toBe(first.reading);
  await clock.advance(600);
  expect((await ask(0)).ageMs).toBe(0);
});

test('all who ask while a reading is under way get that one', async () => {
  const { clock, ask, spentMs } = slowRedis(50, 1);
  const asked = [ask(0), ask(0), ask(0)];
  await clock.advance(50);
  expect(new Set((await Promise.all(asked)).map(({ reading }) => reading)).size).toBe(1);
  expect(spentMs()).toBe(50);
});

test('one that failed is not done again at once: until then everybody is told how it ended', async () => {
  const clock = createFakeClock();
  let tries = 0;
  const read = () => {
    tries += 1;
    return tries === 1 ? Promise.reject(new Error('away')) : Promise.resolve('there');
  };
  const pacer = new PacedReading({ clock, read, restMs: () => 1_000 });
  await expect(pacer.get()).rejects.toThrow('away');
  await clock.advance(999);
  await expect(pacer.get()).rejects.toThrow('away');
  expect(tries).toBe(1);
  await clock.advance(1);
  expect(await pacer.get()).toMatchObject({ reading: 'there' });
});
