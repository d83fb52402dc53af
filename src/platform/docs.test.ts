import { afterEach, expect, test, vi } from 'vitest';
import { docsPage } from './docs.ts';

afterEach(() => vi.unstubAllEnvs());

test.each([
  [undefined, 'docs/trainers.md'],
  ['https://docs.example.com/corral', 'https://docs.example.com/corral/trainers.md'],
  ['https://docs.example.com/corral/', 'https://docs.example.com/corral/trainers.md'],
])('with CORRAL_DOCS=%s a page is %s', (base, address) => {
  vi.stubEnv('CORRAL_DOCS', base);
  expect(docsPage('trainers.md')).toBe(address);
});
