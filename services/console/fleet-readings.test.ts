import { expect, test } from 'vitest';
import { FleetReadings, type Reading } from './fleet-readings.ts';

const reading = (atMs: number): Reading => ({
  atMs,
  waiting: atMs / 1_000,
  held: 0,
  ready: 0,
  starting: 0,
  discarded: 0,
});
const hourMs = 3_600_000;

/** A fleet that is read each second for so long. */
function readFor(ms: number): FleetReadings {
  const readings = new FleetReadings();
  for (let atMs = 0; atMs <= ms; atMs += 1_000) readings.add(reading(atMs));
  return readings;
}

test('ten minutes have readings of seconds, and a day has some of each ten seconds', () => {
  const readings = readFor(hourMs);
  expect(readings.of(5, hourMs).at_ms).toEqual(
    Array.from({ length: 301 }, (_, place) => hourMs - (300 - place) * 1_000),
  );
  const hour = readings.of(60, hourMs);
  expect([hour.at_ms.length, hour.at_ms[0], hour.every_ms]).toEqual([361, 0, 10_000]);
});

test('an answer has at most 600 readings, the newest among them', () => {
  const day = readFor(24 * hourMs).of(1_440, 24 * hourMs);
  expect(day.at_ms.length).toBeLessThanOrEqual(600);
  expect(day.at_ms.at(-1)).toBe(24 * hourMs);
  expect(day.every_ms).toBe(150_000);
});

test('readings that are older than a day are forgotten, and a gap stays one', () => {
  const readings = readFor(hourMs);
  readings.add(reading(25 * hourMs - 60_000));
  readings.add(reading(25 * hourMs));
  expect(readings.of(1_440, 25 * hourMs).at_ms.slice(0, 2)).toEqual([hourMs, 25 * hourMs - 60_000]);
});
