import { describe, expect, test } from 'vitest';
import { seededRandom } from '#demo/seeded-random.ts';
import { arrivalMs, drawBurstSize, drawGroupSize, groupSizes, stepGapMs } from './bursts.ts';
import { lossesOfWave } from './days.ts';
import { drawLognormal, drawOne } from './distributions.ts';
import { drawCall, drawCallCount, drawClient, drawRollout } from './rollouts.ts';

/** Enough that a median of the widest of these is within a few percent. */
const draws = 20_000;

function sorted(draw: (random: ReturnType<typeof seededRandom>) => number): readonly number[] {
  const random = seededRandom('load model');
  return Array.from({ length: draws }, () => draw(random)).toSorted((a, b) => a - b);
}

const quantile = (values: readonly number[], share: number) =>
  values[Math.floor(share * values.length)] ?? Number.NaN;

const mode = (values: readonly number[]) =>
  [...Map.groupBy(values, (value) => value)].toSorted((a, b) => b[1].length - a[1].length)[0]?.[0];

const within = (value: number, wanted: number, share: number) =>
  expect(Math.abs(value - wanted) / wanted).toBeLessThan(share);

describe('a lognormal', () => {
  const values = sorted((random) => drawLognormal(random, { median: 5_700, sigma: 1.06 }));

  test('has its median in the middle', () => within(quantile(values, 0.5), 5_700, 0.05));

  test('has e to the sigma times its median one deviation above', () => {
    within(quantile(values, 0.841), 5_700 * Math.exp(1.06), 0.08);
  });
});

test('a choice follows its shares, and its last value takes what rounding leaves', () => {
  const values = sorted((random) =>
    drawOne(random, [
      [0, 0.25],
      [1, 0.75],
    ]),
  );
  within(values.filter((value) => value === 1).length / draws, 0.75, 0.03);
  expect(
    drawOne({ next: () => 0.999, text: () => '' }, [
      ['a', 0.5],
      ['b', 0.4],
    ]),
  ).toBe('b');
});

const drawn = (seed: string) => drawRollout(seededRandom(seed));

test('the same seed draws the same rollout, another seed another', () => {
  expect(drawn('1')).toEqual(drawn('1'));
  expect(drawn('1')).not.toEqual(drawn('2'));
});

test('calls per rollout: median 35, from 1 to 100', () => {
  const counts = sorted(drawCallCount);
  within(quantile(counts, 0.5), 35, 0.05);
  expect(counts[0]).toBeGreaterThanOrEqual(1);
  expect(counts.at(-1)).toBe(100);
});

describe('a call', () => {
  const durations = sorted((random) => drawCall(random).durationMs);
  const bytes = sorted((random) => drawCall(random).outputBytes);

  test('is short in most cases and stays below eight minutes but for the hung ones, 0.3 %', () => {
    expect(quantile(durations, 0.5)).toBeLessThan(800);
    expect(quantile(durations, 0.98)).toBeLessThan(480_001);
    const hung = durations.filter((each) => each === Infinity).length / draws;
    expect(hung).toBeGreaterThan(0.001);
    expect(hung).toBeLessThan(0.006);
  });

  test('prints 1 KB in the middle and 200 KB at the 99th percentile', () => {
    within(quantile(bytes, 0.5), 1_024, 0.08);
    within(quantile(bytes, 0.99), 200 * 1_024, 0.35);
  });
});

describe('a rollout', () => {
  const random = seededRandom('rollouts');
  const rollouts = Array.from({ length: 2_000 }, () => drawRollout(random));

  test('is cancelled early in a tenth of cases', () => {
    within(rollouts.filter(({ cancelled }) => cancelled).length / rollouts.length, 0.1, 0.25);
  });

  test('makes one call in 85 % of its later steps and never more than 4 there', () => {
    const widths = rollouts.flatMap(({ steps }) => steps.slice(1, -1).map(({ calls }) => calls.length));
    within(widths.filter((width) => width === 1).length / widths.length, 0.85, 0.03);
    expect(Math.max(...widths)).toBe(4);
    expect(rollouts.some(({ steps }) => steps[0]?.calls.length === 8)).toBe(true);
  });
});

test('a client waits one to five minutes, and half of them have no jitter', () => {
  const random = seededRandom('clients');
  const clients = Array.from({ length: 2_000 }, () => drawClient(random));
  expect(Math.min(...clients.map(({ timeoutMs }) => timeoutMs))).toBeGreaterThanOrEqual(60_000);
  expect(Math.max(...clients.map(({ timeoutMs }) => timeoutMs))).toBeLessThanOrEqual(300_000);
  within(clients.filter(({ jitter }) => jitter).length / clients.length, 0.5, 0.1);
});

describe('a burst', () => {
  test('is split into whole groups, the last as short as what is left', () => {
    expect(groupSizes(20, 8)).toEqual([8, 8, 4]);
  });

  test('has 512 rollouts and groups of 8 more often than any other size', () => {
    expect(mode(sorted(drawBurstSize))).toBe(512);
    expect(mode(sorted(drawGroupSize))).toBe(8);
  });

  test.each([
    ['spike', 250],
    ['observed', 6_000],
    ['polite', 20_000],
  ] as const)('that comes as %s is over after %i ms', (arrival, longestMs) => {
    const times = sorted((random) => arrivalMs(random, arrival));
    expect(times.at(-1)).toBeLessThanOrEqual(longestMs);
    expect(times.at(-1)).toBeGreaterThan(longestMs * 0.9);
  });

  test('that is observed has one second with three times the mean', () => {
    const times = sorted((random) => arrivalMs(random, 'observed'));
    const peak = times.filter((ms) => ms >= 2_000 && ms < 3_000).length;
    within(peak / (draws / 6), 3, 0.1);
  });

  test('is followed by the next after seven or twenty minutes, a fifth to and fro', () => {
    within(
      quantile(
        sorted((random) => stepGapMs(random, 'tools')),
        0.5,
      ),
      420_000,
      0.03,
    );
    within(
      quantile(
        sorted((random) => stepGapMs(random, 'software')),
        0.5,
      ),
      1_200_000,
      0.03,
    );
  });
});

test('a bad day takes 5 to 15 % of a wave, and at least one', () => {
  const random = seededRandom('days');
  const losses = Array.from({ length: 500 }, () => lossesOfWave(random, 100));
  expect(Math.min(...losses)).toBeGreaterThanOrEqual(5);
  expect(Math.max(...losses)).toBeLessThanOrEqual(15);
  expect(lossesOfWave(random, 3)).toBe(1);
});
