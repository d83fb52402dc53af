import { expect, test } from 'vitest';
import { blameOfCall } from './rollout-story.ts';

test.each([
  ['completed', null, 0, null],
  ['completed', null, 1, 'model'],
  ['completed', 'command_out_of_memory', null, 'model'],
  ['completed', 'sandbox_broken', null, 'model'],
  ['timed_out', 'command_timeout', null, 'model'],
  ['refused', 'bad_arguments', null, 'model'],
  ['cancelled', null, null, null],
  ['infrastructure_failure', 'sandbox_lost', null, 'infrastructure'],
  ['infrastructure_failure', 'of a newer gateway', null, 'infrastructure'],
  [null, null, null, null],
] as const)(
  'a call that is %s with code %s and exit code %s is the fault of %s',
  (outcome, code, exitCode, blame) => {
    expect(blameOfCall({ outcome, code, exitCode })).toBe(blame);
  },
);
