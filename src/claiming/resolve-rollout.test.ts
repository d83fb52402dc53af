import { describe, expect, test } from 'vitest';
import { type EnvironmentOfTest, fakeEnvironment, fakeTemplate, roomyPool } from '#test/fakes/environment.ts';
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
  readonly olderGateways?: readonly number[];
  /** What the record has kept of another request that opened the rollout. */
  readonly needsBefore?: string;
};

const policy = { ...openPolicy, machine: { memoryBytes: 2 ** 34 } };

/** What an open claims, without anything behind it. */
async function claimOf(
  changes: Partial<Open>,
  { environment = fakeEnvironment(), olderGateways = [], needsBefore }: Given = {},
): Promise<ClaimRequest | undefined> {
  const claimed: ClaimRequest[] = [];
  const older = [...olderGateways];
  const claims: Pick<ClaimStore, 'claim' | 'find' | 'pinVersion' | 'row' | 'olderGateways'> = {
    claim: async (request) => {
      claimed.push(request);
      return { kind: 'held', rollout: fakeRollout({ needs: needsBefore ?? request.needs }) };
    },
    find: async () => null,
    row: async () => null,
    pinVersion: async () => environment.version,
    olderGateways: async () => older.shift() ?? 0,
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

describe('while gateways of the previous release are here, which would grade with less than a task demands', () => {
  const fresh = fakeEnvironment({ graderTemplate: fakeTemplate({ role: 'grader' }), pool: roomyPool });
  const met = { requirements: { sandbox: null, amounts: { memoryBytes: 2 ** 20 } } };

  test('its rollout is opened once they are gone', async () => {
    const claim = await claimOf(demanding, { environment: fresh, olderGateways: [2, 1] });
    expect(claim?.chosen).toBeDefined();
  });

  test('it fails and may be repeated if they stay', async () => {
    const opened = claimOf(demanding, { environment: fresh, olderGateways: Array<number>(1_000).fill(1) });
    await expect(opened).rejects.toMatchObject({ code: 'state_unavailable', retry: 'later' });
  });

  test.each([
    ['that demands nothing', {}, fresh],
    ['whose environment has enough', met, fresh],
    ['whose grader works in its own sandbox', demanding, fakeEnvironment()],
  ])('a task %s is opened at once', async (_what, changes, of) => {
    const opened = claimOf(changes, { environment: of, olderGateways: Array<number>(1_000).fill(1) });
    await expect(opened).resolves.toBeDefined();
  });
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
