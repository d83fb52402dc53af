import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { fakeCallSummary, fakeRollout } from '#test/fakes/rollout-record.ts';
import { repeatedClaim } from '../claiming/claim-request.ts';
import { callId } from '../model/ids.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { RecordedCall, Settlement } from '../ports/fleet/calls.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';
import { LinkError, type LinkTrouble } from '../ports/sandbox-link.ts';
import { cancelCall } from './cancel.ts';

const call = callId('c1');
const dispatched = fakeCallSummary({ state: 'dispatched', outcome: null, code: null, admitted: 'unknown' });
const unbegun = fakeCallSummary({ tool: 'unknown', outcome: 'cancelled', code: null, admitted: 'no' });
const completed = fakeCallSummary({ outcome: 'completed', code: null, admitted: 'yes' });

const recordOf = (summary: CallSummary): RecordedCall => ({
  summary,
  digest: 'digest',
  epoch: null,
  setup: false,
  repeated: summary.state === 'settled' ? { kind: 'answer_expired' } : null,
});

const notReceived = { kind: 'refused', status: 404, code: 'unknown_call', message: 'no call c1' } as const;

type Found = {
  /** What fleet state has of the call. */
  readonly lookedUp: CallSummary | null;
  /** What it has after it was to settle the call. */
  readonly settled?: CallSummary;
  /** What it has when it is asked once more. */
  readonly later?: CallSummary;
  /** How often the sandbox is asked before the call reaches it. */
  readonly asksBefore?: number;
};

async function cancel(
  { lookedUp, settled = unbegun, later, asksBefore = 0 }: Found,
  rollout: RolloutRecord,
  trouble: LinkTrouble | null = null,
) {
  const lookUps = later === undefined ? [lookedUp] : [lookedUp, later];
  const settlements: Settlement[] = [];
  const stopped: string[] = [];
  let asked = 0;
  const clock = createFakeClock();
  const events: FleetEvent[] = [];
  const environment = fakeEnvironment();
  const claim = repeatedClaim(rollout, environment, null);
  const known = { key: rollout.key, claim, environment, known: true, keyId: 'trainer' };
  const deps = {
    clock,
    random: createFakeRandom(),
    record: (event: FleetEvent) => void events.push(event),
    calls: {
      lookup: async () => {
        const [now = null] = lookUps.length > 1 ? lookUps.splice(0, 1) : lookUps;
        return now === null ? null : recordOf(now);
      },
      settle: async (settlement: Settlement) => {
        settlements.push(settlement);
        const repeated = { kind: 'answer_expired' } as const;
        return { first: settled === unbegun, tainted: false, summary: settled, digest: '', repeated };
      },
    },
    claims: { find: async () => fakeRollout() },
    link: {
      cancel: async ({ sandbox }: { readonly sandbox: string }, run: string) => {
        asked += 1;
        if (asked <= asksBefore) throw new LinkError(notReceived);
        if (trouble !== null) throw new LinkError(trouble);
        stopped.push(`${run} in ${sandbox}`);
      },
    },
  };
  const cancelling = cancelCall(deps, known, rollout, call);
  for (let asks = 0; asks < asksBefore; asks += 1) await clock.advance(100);
  const cancelled = await cancelling;
  return { cancelled, settlements, stopped, events };
}

const inLine = fakeRollout({ state: 'waiting', epoch: null, address: null });

test.each([
  ['waits in line', inLine, true],
  ['has its sandbox prepared', fakeRollout({ state: 'claimed' }), true],
  ['has its sandbox', fakeRollout(), false],
])(
  'a call that fleet state does not have settles as cancelled while its rollout %s, and never began',
  async (_where, rollout, waiting) => {
    const { cancelled, settlements, stopped, events } = await cancel({ lookedUp: null }, rollout);
    expect(cancelled).toEqual({ began: false, waiting });
    expect(settlements).toMatchObject([
      {
        call,
        digest: '',
        outcome: 'cancelled',
        admitted: 'no',
        durationMs: 0,
        onlyNew: true,
        isAnswered: true,
      },
    ]);
    expect(stopped).toEqual([]);
    expect(events).toMatchObject([{ kind: 'call_settled', keyId: 'trainer' }]);
  },
);

test('a call that was sent is stopped in its sandbox, and has begun', async () => {
  const { cancelled, settlements, stopped } = await cancel({ lookedUp: dispatched }, fakeRollout());
  expect(cancelled).toEqual({ began: true, waiting: false });
  expect(settlements).toEqual([]);
  expect(stopped[0]).toBe('c1 in sandbox-1');
});

test('a call that has not reached its sandbox yet is stopped as soon as it has', async () => {
  const { cancelled, stopped } = await cancel({ lookedUp: dispatched, asksBefore: 3 }, fakeRollout());
  expect(cancelled).toEqual({ began: true, waiting: false });
  expect(stopped[0]).toBe('c1 in sandbox-1');
});

test('a call that is admitted in the same moment is stopped in its sandbox', async () => {
  const { cancelled, stopped } = await cancel({ lookedUp: null, settled: dispatched }, inLine);
  expect(cancelled).toEqual({ began: true, waiting: false });
  expect(stopped[0]).toBe('c1 in sandbox-1');
});

test('a call that has settled stays as it is: it began, unless an earlier cancel kept it from that', async () => {
  const ended = await cancel({ lookedUp: completed }, fakeRollout());
  expect(ended).toMatchObject({ cancelled: { began: true, waiting: false }, settlements: [], stopped: [] });
  const again = await cancel({ lookedUp: unbegun }, inLine);
  expect(again).toMatchObject({ cancelled: { began: false, waiting: true }, settlements: [], stopped: [] });
});

test.each([
  ['over', { ...fakeRollout(), state: 'closed', closedBy: 'finished', closedAtMs: 1 }],
  ['barred', { ...fakeRollout(), barred: 'sandbox_lost' }],
] as const)('a rollout that is %s admits no call, so nothing is recorded there', async (_how, rollout) => {
  const { cancelled, settlements } = await cancel({ lookedUp: null }, rollout);
  expect(cancelled).toEqual({ began: false, waiting: false });
  expect(settlements).toEqual([]);
});

test('a call that went down with its sandbox meanwhile needs no stop', async () => {
  const away = { kind: 'not_sent', detail: 'refused' } as const;
  const { cancelled } = await cancel({ lookedUp: dispatched, later: completed }, fakeRollout(), away);
  expect(cancelled).toEqual({ began: true, waiting: false });
});

test('a running call whose sandbox does not answer is not stopped, which a repeat may do', async () => {
  const away = { kind: 'maybe_sent', detail: 'reset' } as const;
  await expect(cancel({ lookedUp: dispatched }, fakeRollout(), away)).rejects.toMatchObject({
    code: 'sandboxd_unreachable',
    admitted: 'yes',
    message: 'call c1 was not stopped: sandboxd: maybe_sent (reset); ask again',
  });
});
