import { expect, it } from 'vitest';
import { faceOf } from './answer-failure.ts';

it.each([
  '/rft',
  '/rft/',
  '/rft?x',
  '/rft/shell/grade',
  '//rft/x',
  '/RFT/x',
  '/%72ft/x',
  '/rft%2Fx',
  '/%2Frft',
  '/./rft/x',
  'http://other:80/rft/x',
  'rft:80',
  '/rft/%zz',
])('%s belongs to the face that never answers 4xx', (target) => {
  expect(faceOf(target)).toBe('rft');
});

it.each(['/e2b', '/e2b/', '/e2b?x', '/e2b/runs/r/sandboxes', '/E2B/x', '//e2b/x', 'http://other/e2b/x'])(
  '%s belongs to the face that says gone by 502',
  (target) => {
    expect(faceOf(target)).toBe('e2b');
  },
);

it.each([
  '/',
  '/e2bx',
  '/v1/e2b',
  '/v1/rollouts',
  '/rfty',
  '/v1/rft/x',
  '/healthz',
  '*',
  '',
  'http://rft/v1',
])('%s belongs to the native face', (target) => {
  expect(faceOf(target)).toBe('native');
});
