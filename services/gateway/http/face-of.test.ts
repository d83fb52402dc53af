import { expect, it } from 'vitest';
import { faceOf } from './face-of.ts';

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

it.each(['/', '/v1/rollouts', '/rfty', '/v1/rft/x', '/healthz', '*', '', 'http://rft/v1'])(
  '%s belongs to the native face',
  (target) => {
    expect(faceOf(target)).toBe('native');
  },
);
