import { expect, test } from 'vitest';
import { describeSummary, type UpSummary } from './summary.ts';

const summary: UpSummary = {
  gatewayUrl: 'http://127.0.0.1:8700',
  apiKey: 'corral_development',
  beyond: null,
  isolation: 'two users in each sandbox, of its own; limits of memory, processes and CPU enforced',
  stateDir: '.corral',
  consoleUrl: null,
  readyAfterMs: 900,
  limitations: [],
  environments: [],
  tryThis: [],
};

test('lines to try are printed below their heading', () => {
  expect(describeSummary({ ...summary, tryThis: ['curl a', 'curl b'] })).toContain(
    '\n\nTry in another terminal:\n  curl a\n  curl b\n\nCtrl-C',
  );
});

test('without lines to try, their heading is not printed', () => {
  expect(describeSummary(summary)).toMatch(/every limit\.\n\nCtrl-C stops everything\.$/);
});

test('a fleet that others reach says who they are, and that what passes is not encrypted', () => {
  const beyond = {
    url: 'http://0.0.0.0:8700',
    reach: 'every machine',
    fingerprint: null,
    firstKey: 'corral_x',
  };
  const text = describeSummary({ ...summary, beyond });
  expect(text).toContain('reachable from   every machine');
  expect(text).toContain('certificate      none: keys and everything else pass unencrypted');
  expect(text).toContain('first key        corral_x   (shown only this once)');
  expect(
    describeSummary({ ...summary, beyond: { ...beyond, fingerprint: 'AA:BB', firstKey: null } }),
  ).toMatch(/certificate {6}SHA-256 AA:BB\n\n/);
});
