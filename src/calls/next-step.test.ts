import { expect, test } from 'vitest';
import type { LinkTrouble } from '../ports/sandbox-link.ts';
import { nextStep } from './next-step.ts';

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
    { kind: 'lose', cause: 'pod_replaced', evidence: {} },
  ],
  ['other arguments', refused(409, 'call_conflict'), { kind: 'conflict' }],
  ['an id that the journal lacks', refused(404, 'unknown_call'), { kind: 'absent' }],
  [
    'nobody’s, though it is told to be the rollout’s',
    refused(409, 'not_bound'),
    { kind: 'lose', cause: 'pod_replaced', evidence: {} },
  ],
  [
    'another’s, though it is told to be the rollout’s',
    refused(409, 'bound_elsewhere'),
    { kind: 'lose', cause: 'pod_replaced', evidence: {} },
  ],
  ['the end of its life', refused(410, 'expired'), { kind: 'lose', cause: 'expired', evidence: {} }],
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
