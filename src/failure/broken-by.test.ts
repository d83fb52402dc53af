import { expect, test } from 'vitest';
import { brokenBy } from './broken-by.ts';
import type { LossCause } from './codes.ts';

test('only a sandbox that hit its own memory limit was taken down by what ran in it', () => {
  const ours: readonly LossCause[] = ['sandboxd_killed', 'evicted', 'node_lost', 'sandbox_exited', 'expired'];
  expect(ours.map(brokenBy)).toEqual(ours.map(() => null));
  expect(brokenBy('out_of_memory')).not.toBeNull();
});
