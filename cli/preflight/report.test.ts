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

test('a job that grades by itself is shown what Harbor must set, and no other', () => {
  const report = { url: 'http://127.0.0.1:8700', ok: true, checks: [], egress: {} };
  const own = { tools: [], grader: null, functions: [] };
  const fleets = { ...own, grader: { type: 'endpoint', url: 'http://127.0.0.1:8700', headers: {} } } as const;
  expect(describePreflight({ ...report, jobs: { own } }, 200)).toContain('"SandboxUnreachableException"');
  expect(describePreflight({ ...report, jobs: { fleets } }, 200)).not.toContain('override_error_policy');
});
