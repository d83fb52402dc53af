import { expect, test } from 'vitest';
import { modelFailureCodes } from '../model/outcome.ts';
import { blameOf, brokenBy, commandsAsSandboxd, failureCodes, failures, type LossCause } from './codes.ts';

test("whose doing an end was is in the table, or the end is an answer: then it is the model's", () => {
  expect(failureCodes.map((code) => blameOf(code))).toEqual(failureCodes.map((code) => failures[code].blame));
  expect(new Set(modelFailureCodes.map((code) => blameOf(code)))).toEqual(new Set(['model']));
});

test.each([
  ['a code of a newer gateway', 'infrastructure'],
  ['constructor', 'infrastructure'],
  [null, null],
] as const)('%s is the doing of %s', (code, blame) => {
  expect(blameOf(code)).toBe(blame);
});

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
