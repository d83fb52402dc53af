import { expect, test } from 'vitest';
import { parseBytes, parseCpuMilli, parseDurationMs } from './quantities.ts';

test.each([
  ['500ms', 500],
  ['60s', 60_000],
  ['1.5m', 90_000],
  ['2h', 7_200_000],
])('%s is %d ms', (text, durationMs) => {
  expect(parseDurationMs(text)).toBe(durationMs);
});

test.each([
  ['100m', 100],
  ['1', 1000],
  [0.5, 500],
  ['2.5', 2500],
])('%j cores are %d thousandths', (amount, milli) => {
  expect(parseCpuMilli(amount)).toBe(milli);
});

test.each([
  ['512Mi', 536_870_912],
  ['1Gi', 1_073_741_824],
  ['1G', 1_000_000_000],
  ['1.5Ki', 1536],
  [65_536, 65_536],
])('%j is %d bytes', (amount, bytes) => {
  expect(parseBytes(amount)).toBe(bytes);
});

test.each(['60', 'soon', '-1s', '1d'])('%j is no duration', (text) => {
  expect(() => parseDurationMs(text)).toThrow(RangeError);
});
