import { expect, test } from 'vitest';
import type { EventKeeper } from '#src/ports/fleet/watch.ts';
import { minute, second, worldOfTests } from './world.ts';

const world = worldOfTests();

const gateway: EventKeeper = {
  component: 'gateway',
  host: 'gateway-a',
  address: 'http://10.0.0.7:8080',
  keeps: true,
};

test('who tells a log is who said so last, and how long ago that was is told', async () => {
  const { eventKeepers } = world.fleet;
  await eventKeepers.tell('log-1', gateway);
  await world.step(10 * second);
  const controller = { component: 'controller', host: 'c', address: null, keeps: false } as const;
  await eventKeepers.tell('log-2', controller);
  await world.step(5 * second);
  expect(await eventKeepers.all()).toEqual([
    { log: 'log-2', silentMs: 5 * second, ...controller },
    { log: 'log-1', silentMs: 15 * second, ...gateway },
  ]);
  await eventKeepers.tell('log-1', { ...gateway, host: 'gateway-a, started again' });
  expect(await eventKeepers.all()).toMatchObject([
    { log: 'log-1', silentMs: 0, host: 'gateway-a, started again' },
    { log: 'log-2' },
  ]);
});

test('a log that nobody tells any more is remembered for a day', async () => {
  const { eventKeepers } = world.fleet;
  await eventKeepers.tell('log-1', gateway);
  await world.step(24 * 60 * minute);
  await eventKeepers.tell('log-2', gateway);
  expect(await eventKeepers.all()).toHaveLength(2);
  await world.step(1);
  await eventKeepers.tell('log-2', gateway);
  expect(await eventKeepers.all()).toMatchObject([{ log: 'log-2' }]);
});

test('five hundred logs are remembered: a start that fails again and again fills nothing', async () => {
  const { eventKeepers } = world.fleet;
  for (let n = 0; n < 510; n += 1) {
    await world.step(1);
    await eventKeepers.tell(`log-${n}`, gateway);
  }
  const kept = await eventKeepers.all();
  expect([kept.length, kept[0]?.log, kept.at(-1)?.log]).toEqual([500, 'log-509', 'log-10']);
});
