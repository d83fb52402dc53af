import { expect, test } from 'vitest';
import type { LinkTrouble } from '../ports/sandbox-link.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { saidBySandbox } from '../failure/witness.ts';
import { believedStep, nextStep } from './next-step.ts';

const refused = (status: number, code: string): LinkTrouble => ({
  kind: 'refused',
  status,
  code,
  message: code,
});

test.each<[string, LinkTrouble, object]>([
  ['no connection', { kind: 'not_sent', detail: '' }, { kind: 'again', reached: false }],
  ['a connection that broke', { kind: 'maybe_sent', detail: '' }, { kind: 'again', reached: true }],
  [
    'another life',
    { kind: 'other_boot', boot: 'b' },
    { kind: 'lose', cause: 'boot_changed', evidence: { boot_after: 'b' } },
  ],
  [
    'another life that does not say which',
    { kind: 'other_boot', boot: null },
    { kind: 'lose', cause: 'boot_changed', evidence: {} },
  ],
  [
    'another sandbox at the address',
    { kind: 'other_sandbox' },
    { kind: 'lose', cause: 'pod_replaced', evidence: saidBySandbox },
  ],
  ['other arguments', refused(409, 'call_conflict'), { kind: 'conflict' }],
  ['an id that the journal lacks', refused(404, 'unknown_call'), { kind: 'absent' }],
  [
    'nobody’s, though it is told to be the rollout’s',
    refused(409, 'not_bound'),
    { kind: 'lose', cause: 'pod_replaced', evidence: saidBySandbox },
  ],
  [
    'another’s, though it is told to be the rollout’s',
    refused(409, 'bound_elsewhere'),
    { kind: 'lose', cause: 'pod_replaced', evidence: saidBySandbox },
  ],
  [
    'the end of its life',
    refused(410, 'expired'),
    { kind: 'lose', cause: 'expired', evidence: saidBySandbox },
  ],
  ['an answer stored elsewhere', refused(410, 'answer_confirmed'), { kind: 'again', reached: true }],
  ['a full journal', refused(503, 'journal_full'), { kind: 'again', reached: false }],
])('sandboxd answers with %s', (_name, trouble, step) => {
  expect(nextStep(trouble)).toEqual(step);
});

test('a refusal that nobody foresaw is a failure of ours, with what was said', () => {
  expect(nextStep(refused(400, 'invalid_request'))).toMatchObject({
    kind: 'fail',
    reason: expect.stringContaining('invalid_request'),
  });
});

const apart = fakeRollout();
const oneId = fakeRollout({ idsApartIn: null });

test.each([
  ['an unknown refusal', refused(500, 'internal'), 'sent'],
  ['a conflict', refused(409, 'call_conflict'), 'sent'],
  ['that it lacks what was just sent', refused(404, 'unknown_call'), 'sent'],
  ['an unknown refusal of a call that is only looked for', refused(500, 'internal'), 'looked for'],
] as const)(
  '%s is silence where commands may have sandboxd’s id, and believed elsewhere',
  (_what, trouble, asked) => {
    expect(believedStep(trouble, oneId, asked)).toEqual({ kind: 'again', reached: true });
    expect(believedStep(trouble, apart, asked)).toEqual(nextStep(trouble));
  },
);

test('a call that is only looked for may be absent, whatever ids there are', () => {
  expect(believedStep(refused(404, 'unknown_call'), oneId, 'looked for')).toEqual({ kind: 'absent' });
});
