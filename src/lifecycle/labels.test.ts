import { expect, test } from 'vitest';
import { createFakeClock, settled } from '#test/fakes/clock.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';
import { createFakePoolStore, fakeKnown } from '#test/fakes/pool-store.ts';
import { fakeOwner, fakeRollout } from '#test/fakes/rollout-record.ts';
import { bootId, rolloutId, sandboxId } from '../model/ids.ts';
import { rolloutKey } from '../model/rollout.ts';
import { KnownSandboxes } from '../pool/known-sandboxes.ts';
import type { RolloutRecord } from '../ports/fleet/records.ts';
import { createLabeller } from './labels.ts';

const sandbox = sandboxId('sandbox-1');
const held = fakeRollout({ epoch: { sandbox, boot: bootId('boot-1') } });

const ownedBy = (rollout: string) => rolloutKey({ ...fakeOwner(), rollout: rolloutId(rollout) });

function world(record: RolloutRecord | null) {
  const pool = createFakePoolStore();
  const metrics = createFakeMetrics();
  const labels: unknown[] = [];
  const errors: Error[] = [];
  const clock = createFakeClock();
  const look = createLabeller({
    pool,
    clock,
    known: new KnownSandboxes(pool),
    claims: { find: () => Promise.resolve(record) },
    provider: {
      label: async (one, owner, expiresAtMs) => {
        const error = errors.pop();
        if (error !== undefined) throw error;
        labels.push({ sandbox: one, owner, expiresAtMs });
      },
    },
    hardEndMs: () => 99,
    metrics,
  });
  pool.answers.known.set(sandbox, fakeKnown({ owner: rolloutKey(fakeOwner()) }));
  /** As its loop looks. */
  const label = async () => {
    await clock.advance(2_000);
    await look();
  };
  /** Its first look, which only sees who owns what. */
  const see = look;
  return { pool, labels, errors, see, label, metrics };
}

test('an adopted sandbox is labelled once with its owner and its end', async () => {
  const { see, label, labels } = world(held);
  await see();
  await label();
  await label();
  expect(labels).toEqual([{ sandbox, owner: fakeOwner(), expiresAtMs: 99 }]);
});

test('whoever owns its sandbox for less than two seconds has its first calls, and gets no label yet', async () => {
  const { pool, see, label, labels } = world(held);
  await see();
  await see();
  expect(labels).toEqual([]);
  pool.answers.known.set(sandbox, fakeKnown({ owner: ownedBy('another') }));
  await label();
  expect(labels).toEqual([]);
  await label();
  expect(labels).toHaveLength(1);
});

test('a label that failed is written at the next look', async () => {
  const { see, label, labels, errors } = world(held);
  await see();
  errors.push(new Error('node is away'));
  await expect(label()).rejects.toThrow('node is away');
  await label();
  expect(labels).toHaveLength(1);
});

test('owners that are not labelled yet are told before and after each look', async () => {
  const { see, label, errors, metrics } = world(held);
  await see();
  errors.push(new Error('node is away'));
  await expect(label()).rejects.toThrow('node is away');
  await label();
  expect(metrics.recorded.map(({ values: [left] }) => left)).toEqual([1, 1, 1, 0]);
});

test('a label that takes its time holds up no other', async () => {
  const slow = Promise.withResolvers<void>();
  const written: string[] = [];
  const pool = createFakePoolStore();
  const metrics = createFakeMetrics();
  for (const name of ['slow', 'quick']) {
    pool.answers.known.set(sandboxId(name), fakeKnown({ owner: ownedBy(name) }));
  }
  const clock = createFakeClock();
  const label = createLabeller({
    pool,
    clock,
    known: new KnownSandboxes(pool),
    claims: {
      find: async ({ rollout }) =>
        fakeRollout({ epoch: { sandbox: sandboxId(rollout), boot: bootId('boot') } }),
    },
    provider: {
      label: async (one) => {
        if (one === sandboxId('slow')) await slow.promise;
        written.push(one);
      },
    },
    hardEndMs: () => 99,
    metrics,
  });
  await label();
  await clock.advance(2_000);
  const labelled = label();
  await settled();
  expect(written).toEqual(['quick']);
  slow.resolve();
  await labelled;
  expect(written).toEqual(['quick', 'slow']);
});

test('a sandbox that its rollout let go of gets no label', async () => {
  const { see, label, labels } = world(fakeRollout({ state: 'waiting' }));
  await see();
  await label();
  expect(labels).toEqual([]);
});

test("a warm sandbox that is nobody's gets no label", async () => {
  const { pool, see, label, labels } = world(held);
  pool.answers.known.set(sandbox, fakeKnown());
  await see();
  await label();
  expect(labels).toEqual([]);
});
