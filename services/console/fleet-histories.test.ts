import { expect, test } from 'vitest';
import { Value } from 'typebox/value';
import { madeFleet } from '#test/console/played-gateway.ts';
import { createFakeClock, settled } from '#test/fakes/clock.ts';
import { FleetHistories } from './fleet-histories.ts';
import type { Gateway } from './gateway.ts';

const minuteMs = 60_000;

function setUp() {
  const clock = createFakeClock();
  let isAway = false;
  let asked = 0;
  const gateway: Pick<Gateway, 'ask'> = {
    ask: (_path, schema) => {
      asked += 1;
      return isAway ? Promise.reject(new Error('away')) : Promise.resolve(Value.Parse(schema, madeFleet));
    },
  };
  const session = { key: 'one', gateway };
  const histories = new FleetHistories(clock);
  const lengthFor = (minutes: number) => histories.past(session, minutes).at_ms.length;
  return {
    clock,
    histories,
    session,
    gateway,
    lengthFor,
    asked: () => asked,
    goAway: (value: boolean) => void (isAway = value),
  };
}

test('a fleet is read between pages, too, and not after two hours without one', async () => {
  const { clock, histories, session, asked, lengthFor } = setUp();
  histories.follow(session);
  await clock.advance(5 * minuteMs);
  expect(lengthFor(10)).toBe(31);
  await clock.advance(180 * minuteMs);
  const before = asked();
  await clock.advance(10 * minuteMs);
  expect(asked()).toBe(before);
  expect(clock.sleeping()).toBe(0);
});

test('a gateway that was away leaves a gap, and reading goes on', async () => {
  const { clock, histories, session, goAway, lengthFor } = setUp();
  histories.follow(session);
  await clock.advance(minuteMs);
  goAway(true);
  await clock.advance(2 * minuteMs);
  goAway(false);
  await clock.advance(minuteMs);
  expect(lengthFor(10)).toBe(13);
});

test('after a log-out nothing is read, and the next session of the key has what was read before', async () => {
  const { clock, histories, session, gateway, asked } = setUp();
  histories.follow(session);
  await clock.advance(minuteMs);
  histories.leave(session);
  await settled();
  const before = asked();
  await clock.advance(minuteMs);
  expect(asked()).toBe(before);
  const next = { key: 'one', gateway };
  await histories.read(next);
  expect(histories.past(next, 10).at_ms.length).toBe(8);
  expect(histories.past({ key: 'other', gateway }, 10).at_ms).toEqual([]);
});
