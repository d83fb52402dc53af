import { expect, test } from 'vitest';
import { retryAfterMs } from './ask-once.ts';

const nowMs = Date.parse('2026-01-01T00:00:00Z');

test.each([
  ['3', 3000],
  ['Thu, 01 Jan 2026 00:00:05 GMT', 5000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ['soon', null],
  [undefined, null],
])('Retry-After %j is a wait of %j ms', (header, waitMs) => {
  expect(retryAfterMs(header, nowMs)).toBe(waitMs);
});
