import { expect, test } from 'vitest';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { callId } from '../model/ids.ts';
import type { CallSummary } from '../ports/fleet/records.ts';
import { lossFailure } from './settling.ts';

const summary: CallSummary = {
  call: callId('c1'),
  tool: 'shell',
  state: 'settled',
  outcome: 'infrastructure_failure',
  code: 'outcome_unknown',
  admitted: 'unknown',
  exitCode: null,
  durationMs: null,
  waitedMs: 0,
  outputBytes: 0,
  startedAtMs: 0,
  sandbox: null,
};
const taint = { code: 'sandbox_lost', cause: 'evicted', evidence: {}, atMs: 0 } as const;

test.each([
  ['of a rollout that was tainted, the taint', { ...fakeRollout(), taint }, 'sandbox_lost'],
  ['of one that has its score, as a repeat is told it, its own', fakeRollout(), 'outcome_unknown'],
  ['of one that nobody has any more, its own', null, 'outcome_unknown'],
] as const)('a call without an outcome tells %s', (_, rollout, code) => {
  expect(lossFailure(rollout, summary)).toMatchObject({ code, admitted: 'unknown' });
});
