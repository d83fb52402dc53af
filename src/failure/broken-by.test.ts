import { expect, test } from 'vitest';
import { brokenBy, commandsAsSandboxd } from './broken-by.ts';
import type { LossCause } from './codes.ts';

test('only a sandbox that hit its own limit of memory or disk was taken down by what ran in it', () => {
  const ours: readonly LossCause[] = ['sandboxd_killed', 'evicted', 'node_lost', 'sandbox_exited', 'expired'];
  expect(ours.map((cause) => brokenBy(cause, {}))).toEqual(ours.map(() => null));
  expect(brokenBy('out_of_memory', {})).toContain('memory');
  expect(brokenBy('out_of_disk', {})).toContain('disk');
});

test('a sandboxd that was killed or told to stop was so by what ran in it where that could, other ends were not', () => {
  expect(brokenBy('sandboxd_killed', commandsAsSandboxd)).not.toBeNull();
  expect(brokenBy('sandbox_exited', commandsAsSandboxd)).not.toBeNull();
  const ours: readonly LossCause[] = ['evicted', 'node_lost', 'expired', 'deleted', 'boot_changed'];
  expect(ours.map((cause) => brokenBy(cause, commandsAsSandboxd))).toEqual(ours.map(() => null));
});
