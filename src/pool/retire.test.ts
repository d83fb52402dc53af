import { expect, test } from 'vitest';
import { createFakeClock } from '#test/fakes/clock.ts';
import { fakeEnvironment, fakeTemplate } from '#test/fakes/environment.ts';
import { createFakePoolStore, fakeKnown } from '#test/fakes/pool-store.ts';
import { sandboxId, templateDigest } from '../model/ids.ts';
import type { KnownSandbox } from '../ports/fleet/pool.ts';
import { KnownSandboxes } from './known-sandboxes.ts';
import { planPools } from './plans.ts';
import { retireOld, unwantedAfterMs } from './retire.ts';

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
  const plans = planPools([fakeEnvironment()], [old], new Map());
  await retireOld({ pool, known: new KnownSandboxes(pool), clock }, plans);
  return pool.retirements;
}

const { template } = wanted;

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
