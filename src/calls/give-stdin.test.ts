import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { fakeCallSummary, fakeRollout } from '#test/fakes/rollout-record.ts';
import { callId } from '../model/ids.ts';
import type { RecordedCall } from '../ports/fleet/calls.ts';
import { LinkError, type LinkTrouble } from '../ports/sandbox-link.ts';
import type { StdinReply } from '../protocol/sandboxd/wire.ts';
import { Deadline } from '../waiting/deadline.ts';
import { giveStdin } from './give-stdin.ts';
import { StdinPlaces } from './stdin-places.ts';

const refused = (code: string): LinkTrouble => ({ kind: 'refused', status: 400, code, message: 'no' });
const taken: StdinReply = { received: 3, open: true };

const running: RecordedCall = {
  digest: 'digest',
  repeated: null,
  epoch: null,
  setup: false,
  summary: fakeCallSummary({ state: 'dispatched', outcome: null, code: null, admitted: 'yes' }),
};

const settled: RecordedCall = {
  ...running,
  repeated: { kind: 'broken', rollout: fakeRollout({ broken: 'it killed its sandbox' }) },
};

/** A piece of three bytes for a sandbox that says these, one after the other; the last one again and again. */
async function give(
  said: readonly (LinkTrouble | StdinReply)[],
  rollout = fakeRollout(),
  recorded: RecordedCall | null = running,
) {
  const clock = createFakeClock();
  const left = [...said];
  let asked = 0;
  const link = {
    stdin: async () => {
      asked += 1;
      const next = (left.length > 1 ? left.shift() : left[0]) ?? taken;
      if ('kind' in next) throw new LinkError(next);
      return next;
    },
  };
  const calls = { lookup: () => Promise.resolve(recorded) };
  const deps = { clock, random: createFakeRandom(), link, calls, stdinPlaces: new StdinPlaces(clock) };
  const piece = { offset: 0, bytes: Buffer.from('abc'), isLast: false };
  const deadline = Deadline.in(clock, 30_000);
  const given = giveStdin(deps, rollout, callId('c1'), piece, deadline);
  given.catch(() => undefined);
  for (let seconds = 0; seconds < 60; seconds += 1) await clock.advance(1_000);
  return { given, asked };
}

const outcomeOf = async (...asked: Parameters<typeof give>) => (await give(...asked)).given;

test('a piece is sent again over a connection that broke, and to a sandbox that does not have the call yet', async () => {
  const { given, asked } = await give([
    { kind: 'maybe_sent', detail: 'reset' },
    refused('unknown_call'),
    taken,
  ]);
  expect([await given, asked]).toEqual([taken, 3]);
});

test('a call that never arrived is unknown after a while, and is to be sent again', async () => {
  await expect(outcomeOf([refused('unknown_call')])).rejects.toMatchObject({ code: 'unknown_call' });
});

test.each<LinkTrouble>([
  { kind: 'not_sent', detail: 'refused' },
  { kind: 'maybe_sent', detail: 'silent' },
  { kind: 'other_boot', boot: 'b2' },
  refused('not_found'),
  refused('internal'),
  refused('made up'),
])(
  'a sandbox that takes nothing, %o, has taken nothing: no failure, and no end of the command',
  async (trouble) => {
    expect(await outcomeOf([trouble])).toEqual({ received: 0, open: true });
  },
);

test('a sandbox that refuses at once is asked again for as long as the request has time', async () => {
  expect((await give([refused('internal'), taken])).asked).toBe(2);
  expect((await give([refused('internal')])).asked).toBeGreaterThan(20);
});

test('a command that has ended reads nothing, whatever its sandbox goes on to say', async () => {
  expect(await outcomeOf([{ received: 0, open: true }], fakeRollout(), settled)).toEqual({
    received: 0,
    open: false,
  });
  expect(await outcomeOf([{ received: 0, open: true }])).toEqual({ received: 0, open: true });
});

test('a rollout without a sandbox has had no call yet', async () => {
  const waiting = fakeRollout({ state: 'waiting' });
  await expect(outcomeOf([taken], waiting)).rejects.toMatchObject({ code: 'unknown_call' });
});

test('an offset past the received bytes fails without stopping the job', async () => {
  await expect(outcomeOf([refused('invalid_request')])).rejects.toMatchObject({
    code: 'invalid_request',
    evidence: { stdin: 'c1' },
  });
});

test('a rollout that is over does not read', async () => {
  const closed = { received: 0, open: false };
  expect(await outcomeOf([taken], fakeRollout({ state: 'closed' }))).toEqual(closed);
});

test('a sandbox that cannot be reached because it is gone reads nothing: what its call came to is said elsewhere', async () => {
  const away: LinkTrouble = { kind: 'not_sent', detail: 'refused' };
  expect(await outcomeOf([away], fakeRollout(), settled)).toEqual({ received: 0, open: false });
});

test('a lost rollout fails with its loss', async () => {
  const lost = { code: 'sandbox_lost', cause: 'evicted', suspected: null, evidence: {}, atMs: 0 } as const;
  await expect(outcomeOf([taken], fakeRollout({ discarded: lost }))).rejects.toMatchObject({
    code: 'sandbox_lost',
  });
});
