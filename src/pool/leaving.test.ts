import { expect, test } from 'vitest';
import { createFakePoolStore, fakeKnown } from '#test/fakes/pool-store.ts';
import { sandboxId, templateDigest, type SandboxId } from '../model/ids.ts';
import { SandboxAccount } from './sandbox-account.ts';
import { withdrawLeaving, retireOld, unwantedAfterMs, createDrain } from './leaving.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeEnvironment, fakeTemplate } from '#test/fakes/environment.ts';
import type { KnownSandbox } from '../ports/fleet/pool.ts';
import { KnownSandboxes } from './known-sandboxes.ts';
import { planPools } from './plans.ts';
import { createFakeMetrics } from '#test/fakes/metrics.ts';

const raised = fakeTemplate({ digest: templateDigest('raised') });

const [first, second] = [sandboxId('sandbox-1'), sandboxId('sandbox-2')];
const leaves = (sandbox = first) => ({ kind: 'leaving', sandbox, why: 'its node is not ready' }) as const;

test('each sandbox that leaves is taken out of the pool once', async () => {
  const pool = createFakePoolStore();
  const account = new SandboxAccount();
  account.apply(leaves());
  account.apply(leaves(second));
  expect(await withdrawLeaving(pool, account)).toBe(2);
  expect(await withdrawLeaving(pool, account)).toBe(0);
  expect(pool.withdrawn).toEqual([first, second]);
});

test('what fleet state did not answer for is taken out the next time, and what is gone meanwhile is not asked for', async () => {
  const pool = createFakePoolStore();
  let away = true;
  const account = new SandboxAccount();
  const withdraw: typeof pool.withdraw = (...args) =>
    away ? Promise.reject(new Error('away')) : pool.withdraw(...args);
  account.apply(leaves());
  account.apply(leaves(second));
  await expect(withdrawLeaving({ withdraw }, account)).rejects.toThrow('away');
  away = false;
  account.apply({ kind: 'gone', sandbox: first, cause: 'node_drained', evidence: {} });
  expect(await withdrawLeaving({ withdraw }, account)).toBe(1);
  expect(pool.withdrawn).toEqual([second]);
});

const wanted = { template: templateDigest('template-a'), maxAgeMs: 3_600_000, keepReady: 2 };
const unwanted = {
  template: templateDigest('old'),
  maxAgeMs: unwantedAfterMs,
  keepReady: Number.MAX_SAFE_INTEGER,
};

/** Of which templates fleet state is asked about, where it knows these sandboxes. */
async function askedAbout(sandboxes: readonly Partial<KnownSandbox>[], nowMs = 0) {
  const pool = createFakePoolStore();
  const clock = createFakeClock();
  await clock.advance(nowMs);
  const atMs = clock.nowMs() - nowMs;
  for (const [index, one] of sandboxes.entries())
    pool.answers.known.set(sandboxId(`sandbox-${index}`), fakeKnown({ sinceMs: atMs, ...one }));
  const old = fakeEnvironment({ template: fakeTemplate({ digest: unwanted.template }) });
  let chosen: Parameters<typeof planPools>[3] = [];
  const plans = () => planPools([fakeEnvironment()], [old], new Map(), chosen);
  const readChosen = async () => {
    chosen = [{ environment: fakeEnvironment(), template: raised }];
  };
  await retireOld({ pool, known: new KnownSandboxes(pool), clock, plans, readChosen });
  return pool.retirements;
}

const { template } = wanted;

test('one of a template that a demand raised, before this controller was started, goes once it is idle', async () => {
  const retired = { template: raised.digest, maxAgeMs: 3_600_000, keepReady: 0 };
  expect(await askedAbout([{ template: raised.digest }])).toEqual([retired]);
});

test('a pool that has no more than its size, and nothing old, is not asked about', async () => {
  expect(await askedAbout([{ template }, { template }])).toEqual([]);
});

test('a pool that has more than its size is held to it', async () => {
  expect(await askedAbout([{ template }, { template }, { template }])).toEqual([wanted]);
});

test('what has an owner, starts or is on its way out is no more of a pool', async () => {
  const owner = 'acme/run/a/1/policy' as KnownSandbox['owner'];
  const others = [
    { template, owner },
    ...['starting', 'draining', 'unsure'].map((phase) => ({ template, phase })),
  ];
  expect(await askedAbout([{ template }, { template }, ...others])).toEqual([]);
});

test('a wanted pool is held to its age; one that is no longer wanted loses only what is old', async () => {
  const { template: old } = unwanted;
  const many = Array.from({ length: 5 }, () => ({ template: old }));
  expect(await askedAbout(many, unwantedAfterMs - 60_000)).toEqual([]);
  expect(await askedAbout([{ template }, ...many], unwantedAfterMs)).toEqual([unwanted]);
  expect(await askedAbout([{ template }, ...many], wanted.maxAgeMs)).toEqual([wanted, unwanted]);
});

test('a template without a plan here is left to the controller that has one', async () => {
  expect(await askedAbout([{ template: templateDigest('theirs') }], 86_400_000)).toEqual([]);
});

const [one, other] = [sandboxId('sandbox-1'), sandboxId('sandbox-2')] as const;

function world(destroy: (sandbox: SandboxId) => Promise<void> = () => Promise.resolve()) {
  const pool = createFakePoolStore();
  const clock = createFakeClock();
  const account = new SandboxAccount();
  const destroyed: SandboxId[] = [];
  const provider = {
    destroy: async (sandbox: SandboxId) => {
      await destroy(sandbox);
      destroyed.push(sandbox);
    },
  };
  const drain = createDrain({ pool, provider, account, clock, metrics: createFakeMetrics() });
  pool.answers.draining = [one, other];
  return { pool, clock, account, destroyed, drain };
}

test('what drains is destroyed, and forgotten only when the provider said that it is gone', async () => {
  const { pool, account, destroyed, drain } = world();
  await drain();
  expect(destroyed).toEqual([one, other]);
  expect(pool.forgotten).toEqual([]);
  account.apply({ kind: 'gone', sandbox: one, cause: 'deleted', evidence: {} });
  await drain();
  expect(pool.forgotten).toEqual([one]);
});

test('a removal that was accepted is not asked for again at every look, but after a while', async () => {
  const { clock, destroyed, drain } = world();
  await drain();
  await clock.advance(5_000);
  await drain();
  expect(destroyed).toHaveLength(2);
  await clock.advance(5_000);
  await drain();
  expect(destroyed).toHaveLength(4);
});

test('in a pass that lasts, each has its while from its own asking on', async () => {
  const { clock, destroyed, drain } = world(() => clock.advance(6_000));
  await drain();
  expect(destroyed).toHaveLength(2);
  await drain();
  expect(destroyed).toHaveLength(2);
});

test('one that cannot be destroyed does not keep the others, is told, and is tried again at the next look', async () => {
  let broken = true;
  const { destroyed, drain } = world((sandbox) =>
    broken && sandbox === one ? Promise.reject(new Error('busy')) : Promise.resolve(),
  );
  await expect(drain()).rejects.toThrow('busy');
  expect(destroyed).toEqual([other]);
  broken = false;
  await drain();
  expect(destroyed).toEqual([other, one]);
});
