import { expect, test } from 'vitest';
import type { Check } from './check.ts';
import { describePreflight } from './report.ts';

const check = (ok: boolean): Check => ({
  environment: 'shell',
  what: 'grade',
  ok,
  detail: 'seen',
  tookMs: 1,
});

test.each([
  [[true, true], 'Everything is in order.'],
  [[true, false], '1 of 2 is not in order.'],
  [[false, false], '2 of 2 are not in order.'],
])('the verdict counts what is not in order: %j', (oks, verdict) => {
  const report = {
    url: 'http://127.0.0.1:8700',
    ok: !oks.includes(false),
    checks: oks.map(check),
    egress: {},
    jobs: {},
  };
  expect(describePreflight(report, 200).split('\n').at(-1)).toBe(verdict);
});
