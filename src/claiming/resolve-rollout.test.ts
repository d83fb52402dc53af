import { describe, expect, test } from 'vitest';
import { type EnvironmentOfTest, fakeEnvironment } from '#test/fakes/environment.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { rolloutId, itemKey, runId, tenantId } from '../model/ids.ts';
import { productionTimings } from '../model/timings.ts';
import { rolloutKey, noTags } from '../model/rollout.ts';
import { RolloutCache, type Open, openRollout } from './resolve-rollout.ts';
import { openingClaim } from './claim-request.ts';
import { createFakeRandom } from '#test/fakes/random.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { offered } from '#test/fakes/offered.ts';
import type { ClaimRequest, ClaimStore } from '../ports/fleet/claims.ts';
import { openPolicy } from '../environments/policy.ts';
import { PinnedEnvironments } from './pinned-environments.ts';

const { owner } = fakeRollout();
const environment = fakeEnvironment();
const keyOf = (index: number) => rolloutKey({ ...owner, rollout: rolloutId(`r${index}`) });

const claimWithRow = (rowCharacters: number) =>
  openingClaim(owner, 'rft', environment, { text: 'x'.repeat(rowCharacters) }, JSON.stringify);
const [largeClaim, smallClaim] = [claimWithRow(1_000_000), claimWithRow(10)];

function remember(rolloutCache: RolloutCache, index: number, claim = largeClaim): void {
  rolloutCache.remember(keyOf(index), { claim, environment, exposed: {}, rowHash: null });
}

function remembered(rolloutCache: RolloutCache, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index).filter((index) => rolloutCache.get(keyOf(index)));
}

test('of rollouts with rows of 1 MB as many are remembered as 64 MiB hold, the newest', () => {
  const rolloutCache = new RolloutCache();
  for (let index = 0; index < 100; index += 1) remember(rolloutCache, index);
  const kept = remembered(rolloutCache, 100);
  expect(kept).toHaveLength(67);
  expect(kept.at(-1)).toBe(99);
});

test('one that is remembered again counts once, and is the newest then', () => {
  const rolloutCache = new RolloutCache();
  for (let turn = 0; turn < 200; turn += 1) remember(rolloutCache, 0);
  for (let index = 1; index < 67; index += 1) remember(rolloutCache, index);
  remember(rolloutCache, 0);
  remember(rolloutCache, 67);
  expect(remembered(rolloutCache, 68)).not.toContain(1);
  expect(remembered(rolloutCache, 68)).toContain(0);
});

test('of small ones 4,096 are remembered', () => {
  const rolloutCache = new RolloutCache();
  for (let index = 0; index < 5_000; index += 1) remember(rolloutCache, index, smallClaim);
  expect(remembered(rolloutCache, 5_000)).toHaveLength(4_096);
});

const caller = {
  face: 'native',
  tenant: tenantId('lab'),
  run: runId('run-1'),
  keyId: 'trainer',
} as const;

type Given = {
  readonly environment?: EnvironmentOfTest;
  /** What the record has kept of another request that opened the rollout. */
  readonly needsBefore?: string;
};

const policy = { ...openPolicy, machine: { memoryBytes: 2 ** 34 } };

/** What an open claims, without anything behind it. */
async function claimOf(
  changes: Partial<Open>,
  { environment = fakeEnvironment(), needsBefore }: Given = {},
): Promise<ClaimRequest | undefined> {
  const claimed: ClaimRequest[] = [];
  const claims: Pick<ClaimStore, 'claim' | 'find' | 'pinVersion' | 'row'> = {
    claim: async (request) => {
      claimed.push(request);
      return { kind: 'held', rollout: fakeRollout({ needs: needsBefore ?? request.needs }) };
    },
    find: async () => null,
    row: async () => null,
    pinVersion: async () => environment.version,
  };
  const clock = createFakeClock();
  const published = { load: async () => null, beginning: async () => [] };
  const deps = {
    claims,
    clock,
    random: createFakeRandom(),
    environments: new PinnedEnvironments(offered([environment], policy), claims, published),
    rolloutCache: new RolloutCache(),
    canonical: (value: unknown) => JSON.stringify(value),
    controls: { standing: async () => null },
    timings: productionTimings,
  };
  const open = {
    rollout: rolloutId('r'),
    attempt: 1,
    item: { id: 'task-1' },
    group: null,
    tags: noTags,
    requirements: null,
  };
  const opening = openRollout(deps, caller, {
    ...open,
    environment: { name: environment.name, version: null },
    ...changes,
  });
  await Promise.all([opening, clock.advance(40_000)]);
  return claimed[0];
}

test('a rollout is of the group of its item, unless the trainer names another', async () => {
  expect(await claimOf({})).toMatchObject({ itemKey: 'task-1' });
  expect(await claimOf({ group: itemKey('epoch 2') })).toMatchObject({ itemKey: 'epoch 2' });
});

test('step and labels go with the claim', async () => {
  const tags = { step: 3, labels: ['hard'] };
  expect(await claimOf({ tags })).toMatchObject({ tags });
});

const demanding = { requirements: { sandbox: { workdir: '/app' }, amounts: { memoryBytes: 2 ** 31 } } };

test('what a task demands goes with the claim: a template of its own, how it is made, and what the record keeps', async () => {
  const claim = await claimOf(demanding);
  const { template, version } = environment;
  expect(claim?.template).not.toBe(template.digest);
  expect(claim?.chosen).toEqual({ version, amounts: { memoryBytes: 2 ** 31 } });
  expect(JSON.parse(claim?.needs ?? '')).toEqual({ workdir: '/app', amounts: { memoryBytes: 2 ** 31 } });
});

describe('a repeat that demands of its sandbox', () => {
  const needsBefore = JSON.stringify({ amounts: { memoryBytes: 2 ** 30 } });

  test('more than the rollout was opened with is refused: its task would run with less', async () => {
    await expect(claimOf(demanding, { needsBefore })).rejects.toMatchObject({
      code: 'requirements_unmet',
      message: expect.stringContaining(
        '2048 MiB of memory, but the rollout is open already, and its sandbox has 1024 MiB',
      ),
    });
    await expect(claimOf(demanding, { needsBefore: '{}' })).rejects.toMatchObject({
      code: 'requirements_unmet',
    });
  });

  test.each([[{}], [{ requirements: { sandbox: null, amounts: { memoryBytes: 2 ** 29 } } }]])(
    'no more than that is the same rollout: %j',
    async (changes) => {
      await expect(claimOf(changes, { needsBefore })).resolves.toBeDefined();
    },
  );
});
