import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { createFakeLifecycleStore } from '#test/fakes/lifecycle-store.ts';
import { createFakeLog } from '#test/fakes/log.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { createFakePoolStore, fakeKnown } from '#test/fakes/pool-store.ts';
import { fakeOwner, fakeRollout } from '#test/fakes/rollout-record.ts';
import { bootId, sandboxId, type SandboxId, templateDigest } from '../model/ids.ts';
import { type Owner, rolloutKey, sandboxAddress } from '../model/rollout.ts';
import { LinkError } from '../ports/sandbox-link.ts';
import type { ProvidedSandbox } from '../ports/sandbox-provider.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { KnownSandboxes } from './known-sandboxes.ts';
import { createCollector, decide, differences, garbage } from './garbage.ts';

const sandbox = sandboxId('sandbox-1');
const patience = { strangerMs: 60_000, missingMs: 15_000, silentMs: 7_200_000 };
const provided: ProvidedSandbox = {
  sandbox,
  template: templateDigest('template-a'),
  phase: 'running',
  address: sandboxAddress('unix:/run/1.sock'),
  createdAtMs: 0,
  owner: null,
  expiresAtMs: null,
};

type Says = Owner | 'unbound' | 'nothing';

/** A provider that has `sandboxes`, each of which says whose it is when asked. */
function world(
  sandboxes: readonly ProvidedSandbox[],
  says: Says = 'nothing',
  record: RolloutRecord | null = null,
) {
  const pool = createFakePoolStore();
  const lifecycle = createFakeLifecycleStore();
  const clock = createFakeClock();
  const destroyed: SandboxId[] = [];
  const identity = () => {
    if (says === 'nothing')
      return Promise.reject(new LinkError({ kind: 'not_sent', detail: 'ECONNREFUSED' }));
    const owner = says === 'unbound' ? null : says;
    return Promise.resolve({
      sandbox,
      boot: 'boot-1',
      protocol: 1,
      state: 'bound',
      isolation: 'two-user',
      owner,
      expiresInMs: null,
      label: null,
      probed: true,
      filesPut: 0,
      calls: [],
    } as const);
  };
  const collect = createCollector({
    pool,
    known: new KnownSandboxes(pool),
    lifecycle,
    clock,
    link: { identity },
    claims: { find: () => Promise.resolve(record) },
    provider: { list: () => Promise.resolve(sandboxes), destroy: async (one) => void destroyed.push(one) },
    patience: () => patience,
    metrics: createFakeMetrics(),
    log: createFakeLog(),
  });
  /** Looks now and again after `laterMs`. */
  const lookTwice = async (laterMs: number) => {
    await collect(new AbortController().signal);
    await clock.advance(laterMs);
    await collect(new AbortController().signal);
  };
  return { pool, lifecycle, destroyed, lookTwice };
}

test("a stranger that says it is nobody's is destroyed after a start timeout, not before", async () => {
  const { destroyed, lookTwice } = world([provided], 'unbound');
  await lookTwice(59_000);
  expect(destroyed).toEqual([]);
  await lookTwice(1_000);
  expect(destroyed).toEqual([sandbox]);
});

test('a stranger that works for a live rollout is left alone', async () => {
  const record = fakeRollout({ epoch: { sandbox, boot: bootId('boot-1') } });
  const { destroyed, lookTwice } = world([provided], fakeOwner(), record);
  await lookTwice(600_000);
  expect(destroyed).toEqual([]);
});

test('a stranger whose rollout is closed is destroyed', async () => {
  const record = fakeRollout({ state: 'closed', epoch: { sandbox, boot: bootId('boot-1') } });
  const { destroyed, lookTwice } = world([provided], fakeOwner(), record);
  await lookTwice(60_000);
  expect(destroyed).toEqual([sandbox]);
});

test('a stranger that does not answer is neither adopted nor destroyed', async () => {
  const { destroyed, lookTwice } = world([provided]);
  await lookTwice(3_600_000);
  expect(destroyed).toEqual([]);
});

test('a held sandbox that the provider has no more goes through the one door of loss, at the second look', async () => {
  const { pool, lifecycle, lookTwice } = world([]);
  pool.answers.known.set(sandbox, fakeKnown({ owner: rolloutKey(fakeOwner()) }));
  await lookTwice(14_000);
  expect(lifecycle.losses).toEqual([]);
  await lookTwice(1_000);
  expect(lifecycle.losses).toMatchObject([{ sandbox, cause: 'deleted' }]);
});

test('a draining sandbox that the provider no longer has is forgotten', async () => {
  const { pool, lookTwice } = world([]);
  pool.answers.known.set(sandbox, fakeKnown({ phase: 'draining' }));
  await lookTwice(15_000);
  expect(pool.forgotten).toEqual([sandbox]);
});

const rollout = rolloutKey(fakeOwner());

test('what both have is no difference; what one lacks is named', () => {
  const [both, mine, theirs] = [sandboxId('both'), sandboxId('mine'), sandboxId('theirs')];
  const known = new Map([both, mine].map((one) => [one, { phase: 'ready' }]));
  expect(differences([both, theirs], known)).toEqual([
    { kind: 'stranger', sandbox: theirs },
    { kind: 'missing', sandbox: mine, phase: 'ready' },
  ]);
});

test.each([
  {
    why: 'a young stranger may be a launch',
    kind: 'stranger',
    phase: '',
    lastingMs: 59_999,
    decision: 'wait',
  },
  { why: 'an old stranger is asked', kind: 'stranger', phase: '', lastingMs: 60_000, decision: 'ask' },
  { why: 'one list without it is no loss', kind: 'missing', phase: 'ready', lastingMs: 0, decision: 'wait' },
  {
    why: 'missing for two looks is lost',
    kind: 'missing',
    phase: 'ready',
    lastingMs: 15_000,
    decision: 'lose',
  },
  {
    why: 'a start has its own timeout',
    kind: 'missing',
    phase: 'starting',
    lastingMs: 99_000,
    decision: 'wait',
  },
  {
    why: 'what drained is forgotten',
    kind: 'missing',
    phase: 'draining',
    lastingMs: 15_000,
    decision: 'forget',
  },
] as const)('$why', ({ kind, phase, lastingMs, decision }) => {
  expect(decide({ kind, sandbox, phase }, lastingMs, patience)).toBe(decision);
});

test.each([
  {
    why: "an unbound stranger is nobody's",
    answer: { kind: 'unbound' },
    lastingMs: 60_000,
    reason: 'unbound',
  },
  {
    why: 'a live rollout keeps its sandbox',
    answer: { kind: 'bound', rollout, state: 'live_here' },
    lastingMs: 9e9,
    reason: null,
  },
  {
    why: 'a rollout that went elsewhere does not come back',
    answer: { kind: 'bound', rollout, state: 'live_elsewhere' },
    lastingMs: 60_000,
    reason: 'rollout_ended',
  },
  {
    why: 'an ended rollout needs none',
    answer: { kind: 'bound', rollout, state: 'ended' },
    lastingMs: 60_000,
    reason: 'rollout_ended',
  },
  {
    why: 'a rollout that fleet state forgot may still be right',
    answer: { kind: 'bound', rollout, state: 'unknown' },
    lastingMs: 9e9,
    reason: null,
  },
  { why: 'silence is no answer', answer: { kind: 'silent' }, lastingMs: 3_600_000, reason: null },
  {
    why: 'silence beyond every life is an end',
    answer: { kind: 'silent' },
    lastingMs: 7_200_000,
    reason: 'never_answered',
  },
] as const)('$why', ({ answer, lastingMs, reason }) => {
  expect(garbage(answer, lastingMs, patience)).toBe(reason);
});
