import { expect, test } from 'vitest';
import { fakeCallSummary, fakeRollout } from '#test/fakes/rollout-record.ts';
import { callId } from '../model/ids.ts';
import type { RecordedCall } from '../ports/fleet/calls.ts';
import { LinkError, type LinkTrouble } from '../ports/sandbox-link.ts';
import { cancelCall, outputOf } from './attach.ts';

/** Asks for an output of a sandbox that answers so. */
function ask(trouble: LinkTrouble, rollout = fakeRollout()) {
  const link = { output: () => Promise.reject(new LinkError(trouble)) };
  return outputOf({ link }, rollout, callId('c1'), 'stdout');
}

const gone: LinkTrouble = { kind: 'refused', status: 410, code: 'answer_confirmed', message: 'made way' };
const away: LinkTrouble = { kind: 'maybe_sent', detail: 'reset' };

test('output that had to make way is expired, and the call did run', async () => {
  await expect(ask(gone)).rejects.toMatchObject({ code: 'answer_expired', admitted: 'yes' });
});

test('a sandbox that cannot be asked now may be asked again by a repeat', async () => {
  await expect(ask(away)).rejects.toMatchObject({ code: 'sandboxd_unreachable', retry: 'yes' });
});

const running: RecordedCall = {
  digest: 'digest',
  repeated: null,
  epoch: null,
  summary: fakeCallSummary({ state: 'dispatched', outcome: null, code: null, admitted: 'yes' }),
};

test('a running call whose sandbox does not answer is not stopped, which a repeat may do', async () => {
  const link = { cancel: () => Promise.reject(new LinkError(away)) };
  const calls = { lookup: () => Promise.resolve(running) };
  await expect(cancelCall({ calls, link }, fakeRollout(), callId('c1'))).rejects.toMatchObject({
    code: 'sandboxd_unreachable',
    message: 'call c1 was not stopped: sandboxd: maybe_sent (reset); ask again',
  });
});

test('of a lost rollout the loss is told, and of one that is over that nothing is kept', async () => {
  const lost = { code: 'sandbox_lost', cause: 'evicted', suspected: null, evidence: {}, atMs: 0 } as const;
  await expect(ask(away, fakeRollout({ discarded: lost }))).rejects.toMatchObject({ code: 'sandbox_lost' });
  await expect(ask(away, { ...fakeRollout(), state: 'closed' })).rejects.toMatchObject({
    code: 'answer_expired',
  });
});
