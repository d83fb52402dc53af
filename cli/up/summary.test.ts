import { expect, test } from 'vitest';
import { describeSummary, type UpSummary } from './summary.ts';

const summary: UpSummary = {
  gatewayUrl: 'http://127.0.0.1:8700',
  apiKey: 'corral_development',
  stateDir: '.corral',
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
