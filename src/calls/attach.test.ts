import { expect, test } from 'vitest';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { callId } from '../model/ids.ts';
import { LinkError, type LinkTrouble } from '../ports/sandbox-link.ts';
import { outputOf } from './attach.ts';

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

const breaksOff = async () =>
  (async function* () {
    yield Buffer.from('one');
    throw new LinkError(away);
  })();

test('output that breaks off is a failure that a repeat may fix, and not a bug', async () => {
  const bytes = await outputOf({ link: { output: breaksOff } }, fakeRollout(), callId('c1'), 'stdout');
  await expect(Array.fromAsync(bytes ?? [])).rejects.toMatchObject({
    code: 'sandboxd_unreachable',
    retry: 'yes',
    admitted: 'yes',
  });
});

test('a sandbox that the policy broke is not asked, which would leave its rollout without its low score', async () => {
  expect(await ask(away, fakeRollout({ broken: 'it filled its memory' }))).toBeNull();
});

test('of a lost rollout the loss is told, and of one that is over that nothing is kept', async () => {
  const lost = { code: 'sandbox_lost', cause: 'evicted', suspected: null, evidence: {}, atMs: 0 } as const;
  await expect(ask(away, fakeRollout({ discarded: lost }))).rejects.toMatchObject({ code: 'sandbox_lost' });
  await expect(ask(away, { ...fakeRollout(), state: 'closed' })).rejects.toMatchObject({
    code: 'answer_expired',
  });
});
