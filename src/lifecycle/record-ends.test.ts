import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeLifecycleStore } from '#test/fakes/lifecycle-store.ts';
import { fakeOwner, fakeRollout } from '#test/fakes/rollout-record.ts';
import { Failure } from '../failure/failure.ts';
import { callId, sandboxId } from '../model/ids.ts';
import type { FleetEvent } from '../ports/event-log.ts';
import type { CallStore, Settlement } from '../ports/fleet/calls.ts';
import type { CallSummary, RolloutRecord } from '../ports/fleet/records.ts';
import type { RecoveryStore } from '../ports/fleet/recovery.ts';
import { recordEnds, recordRecovery, recordTaints } from './record-ends.ts';

const sandbox = sandboxId('sandbox-1');
const notAsked = () => Promise.reject(new Error('not asked for here'));
const recoveryStore: RecoveryStore = {
  kept: notAsked,
  restoreRollout: notAsked,
  restoreReady: notAsked,
  markUnsure: notAsked,
  markGone: notAsked,
  markLost: notAsked,
  adopt: notAsked,
  adoptedAtMs: notAsked,
};
const taint = {
  code: 'sandbox_lost',
  cause: 'evicted',
  suspected: null,
  evidence: { node: 'n1' },
  atMs: 5,
} as const;

const settled = (call: string, changes: Partial<CallSummary> = {}): CallSummary => ({
  call: callId(call),
  tool: 'shell',
  state: 'settled',
  outcome: 'completed',
  code: null,
  admitted: 'yes',
  exitCode: 0,
  startedAtMs: 1,
  durationMs: 2,
  waitedMs: 0,
  outputBytes: 0,
  sandbox,
  ...changes,
});

function world(summaries: readonly CallSummary[] | Failure = []) {
  const store = createFakeLifecycleStore();
  const events: FleetEvent[] = [];
  const list = async () => {
    if (summaries instanceof Failure) throw summaries;
    return summaries;
  };
  const record = (event: FleetEvent) => void events.push(event);
  const lifecycle = recordEnds(store, { calls: { list }, clock: createFakeClock(), record });
  return { store, events, lose: () => lifecycle.lose(sandbox, null, 'evicted', {}), lifecycle };
}

test.each([
  ['sandboxd_killed', 'command'],
  ['evicted', null],
] as const)('the verdict of a loss by %s is marked as suspected: %s', async (cause, suspected) => {
  const { store, events, lose } = world();
  store.answers.effect = {
    kind: 'tainted',
    rollout: fakeRollout({ discarded: { ...taint, cause, suspected } }),
  };
  await lose();
  // Nobody asked for it.
  expect(events).toMatchObject([{ kind: 'verdict', suspected, keyId: null }]);
});

test('a loss that taints is written as a verdict, after the calls that it settled', async () => {
  const lost = settled('c2', {
    outcome: 'infrastructure_failure',
    code: 'sandbox_lost',
    admitted: 'unknown',
  });
  const { store, events, lose } = world([settled('c1'), lost]);
  store.answers.effect = { kind: 'tainted', rollout: fakeRollout({ discarded: taint }) };
  await lose();
  expect(events).toMatchObject([
    { kind: 'call_settled', summary: { call: 'c2' }, blame: 'infrastructure' },
    {
      kind: 'verdict',
      verdict: { kind: 'discard', code: 'sandbox_lost', cause: 'evicted' },
      evidence: { node: 'n1' },
    },
  ]);
});

test('a sandbox that its calls took down is written as theirs, and decides no verdict', async () => {
  const broke = settled('c1', { code: 'sandbox_broken', admitted: 'unknown' });
  const refused = settled('c2', { code: 'sandbox_broken', admitted: 'no' });
  const { store, events, lose } = world([broke, refused]);
  store.answers.effect = { kind: 'broken', rollout: fakeRollout({ broken: 'memory' }) };
  await lose();
  expect(events).toMatchObject([{ kind: 'call_settled', summary: { call: 'c1' }, blame: 'model' }]);
});

test('a loss that was known, or swapped silently, is not written', async () => {
  const { store, events, lose } = world([settled('c1')]);
  await lose();
  store.answers.effect = { kind: 'swapped', rollout: fakeRollout() };
  await lose();
  expect(events).toEqual([]);
});

test('the verdict is written also when the calls cannot be read', async () => {
  const { store, events, lose } = world(new Failure('state_unavailable', 'Redis is away'));
  store.answers.effect = { kind: 'tainted', rollout: fakeRollout({ discarded: taint }) };
  expect(await lose()).toMatchObject({ kind: 'tainted' });
  expect(events).toMatchObject([{ kind: 'verdict' }]);
});

test('a void is written as a verdict if it discards, and not if a score stays', async () => {
  const { store, events, lifecycle } = world();
  const discarded = { ...taint, code: 'voided', cause: null, evidence: { reason: 'a broken item' } } as const;
  const voids = (rollout: RolloutRecord, changed = true) => {
    store.void = async () => ({ changed, rollout });
    return lifecycle.void(rollout.key, 'a broken item');
  };
  await voids(fakeRollout({ verdict: 'scored', score: 1 }));
  await voids(fakeRollout({ discarded }), false);
  expect(events).toEqual([]);
  await voids(fakeRollout({ discarded }));
  expect(events).toMatchObject([
    { kind: 'verdict', verdict: { code: 'voided' }, evidence: { reason: 'a broken item' } },
  ]);
});

test('a rollout that is lost while fleet state is written back is written as a verdict', async () => {
  const lost = fakeRollout({ discarded: { ...taint, cause: 'deleted' } });
  const events: FleetEvent[] = [];
  const recorder = {
    calls: { list: async () => [] },
    clock: createFakeClock(),
    record: (event: FleetEvent) => void events.push(event),
  };
  const gone = (rollout: RolloutRecord | null) =>
    recordRecovery({ ...recoveryStore, markGone: async () => rollout }, recorder).markGone(sandbox);
  expect(await gone(null)).toBeNull();
  expect(events).toEqual([]);
  expect(await gone(lost)).toBe(lost);
  expect(events).toMatchObject([{ kind: 'verdict', verdict: { code: 'sandbox_lost', cause: 'deleted' } }]);
});

test('an expiry is written unless the rollout had its verdict before', async () => {
  const { store, events, lifecycle } = world();
  const expired = { state: 'expired', closedBy: 'idle' } as const;
  const of = (name: string, changes: object) =>
    fakeRollout({ owner: fakeOwner(name), ...expired, ...changes });
  store.answers.expired = [
    of('silent', { discarded: { ...taint, code: 'rollout_expired', cause: null } }),
    of('scored', { verdict: 'scored', score: 1 }),
    of('broken', { verdict: 'broken', broken: 'memory' }),
    of('lost', { discarded: taint }),
  ];
  expect(await lifecycle.expireDue(10)).toHaveLength(4);
  expect(events).toMatchObject([
    {
      key: expect.stringContaining('silent'),
      verdict: { code: 'rollout_expired' },
      evidence: { closed_by: 'idle' },
    },
  ]);
});

const failed = { outcome: 'infrastructure_failure', code: 'dependency_failed' } as const;
const backendTaint = {
  code: 'dependency_failed',
  cause: null,
  suspected: null,
  evidence: { exit_code: 75 },
  atMs: 5,
} as const;

const unanswered = { kind: 'answer_expired' } as const;

/** A store whose settlements taint, or not, of a rollout whose calls are these. */
function settling(tainted: boolean, summaries: readonly CallSummary[]) {
  const events: FleetEvent[] = [];
  const own = settled('c1', failed);
  const rollout = fakeRollout({ discarded: backendTaint });
  const store: CallStore = {
    admit: notAsked,
    overdue: notAsked,
    withdraw: notAsked,
    unsent: notAsked,
    timeLeft: notAsked,
    lookup: notAsked,
    list: async () => [own, ...summaries],
    transcript: notAsked,
    settle: async () => ({ first: true, repeated: unanswered, summary: own, digest: 'd', tainted }),
  };
  const record = (event: FleetEvent) => void events.push(event);
  const claims = { find: async () => rollout };
  const calls = recordTaints(store, { claims, clock: createFakeClock(), record });
  const settlement: Settlement = {
    ...own,
    key: rollout.key,
    digest: 'd',
    outcome: 'infrastructure_failure',
    isAnswered: false,
    taint: { code: 'dependency_failed', evidence: {} },
    idleMs: 1,
    keyId: 'trainer',
  };
  return { events, settle: () => calls.settle(settlement) };
}

test('a settlement that taints is written as a verdict, after the calls that ended with it, but for its own', async () => {
  const other = settled('c2', { ...failed, admitted: 'unknown' });
  const { events, settle } = settling(true, [other, settled('c3')]);
  await settle();
  expect(events).toMatchObject([
    { kind: 'call_settled', summary: { call: 'c2' }, blame: 'infrastructure', keyId: null },
    {
      kind: 'verdict',
      verdict: { kind: 'discard', code: 'dependency_failed' },
      evidence: { exit_code: 75 },
      keyId: 'trainer',
    },
  ]);
});

test('a settlement that came second, or into a rollout that had its verdict, writes none', async () => {
  const { events, settle } = settling(false, []);
  await settle();
  expect(events).toEqual([]);
});
