import { expect, test } from 'vitest';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { callId } from '../model/ids.ts';
import type { CallSummary } from '../ports/fleet/records.ts';
import { repeatedClaim } from '../claiming/claim-request.ts';
import { trackedCall } from './plan-call.ts';
import { answerFrom } from './settling.ts';

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
const environment = fakeEnvironment();
const rollout = fakeRollout();
const claim = repeatedClaim(rollout, environment, null);
const known = { key: rollout.key, claim, environment, known: true, keyId: null };
const work = trackedCall(known, summary.call, 'shell', 'digest');

test('a call without an outcome gives the code that fleet state says, with the evidence of its rollout', () => {
  const discarded = {
    code: 'sandbox_lost',
    cause: 'evicted',
    suspected: null,
    evidence: {},
    atMs: 0,
  } as const;
  const repeated = { kind: 'barred', code: 'sandbox_lost', admitted: 'unknown' } as const;
  const told = () =>
    answerFrom(work, { summary, repeated: { ...repeated, rollout: fakeRollout({ discarded }) } });
  expect(told).toThrow(
    expect.objectContaining({
      code: 'sandbox_lost',
      admitted: 'unknown',
      evidence: { cause: 'evicted', call: 'c1', sandbox: null },
    }) as Error,
  );
});

test('an answer that is no longer kept is answer_expired', () => {
  const repeated = { kind: 'answer_expired' } as const;
  expect(() => answerFrom(work, { summary, repeated })).toThrow(
    expect.objectContaining({ code: 'answer_expired' }) as Error,
  );
});
