import { expect, test } from 'vitest';
import { createFakeRandom } from '#test/fakes/random.ts';
import { createFakeClock } from '#test/fakes/clock.ts';
import { offered } from '#test/fakes/offered.ts';
import { fakeEnvironment } from '#test/fakes/environment.ts';
import { fakeRollout } from '#test/fakes/rollout-record.ts';
import { itemKey, rolloutId, runId, tenantId } from '../model/ids.ts';
import { noTags } from '../model/rollout.ts';
import type { ClaimRequest, ClaimStore } from '../ports/fleet/claims.ts';
import { RolloutCache } from './resolve-rollout.ts';
import { type Open, openRollout } from './open-rollout.ts';
import { PinnedEnvironments } from './pinned-environments.ts';

const caller = {
  face: 'native',
  tenant: tenantId('lab'),
  run: runId('run-1'),
  keyId: 'trainer',
} as const;
const environment = fakeEnvironment();

/** What an open claims, without anything behind it. */
async function claimOf(changes: Partial<Open>): Promise<ClaimRequest | undefined> {
  const claimed: ClaimRequest[] = [];
  const claims: Pick<ClaimStore, 'claim' | 'find' | 'pinVersion' | 'row'> = {
    claim: async (request) => {
      claimed.push(request);
      return { kind: 'held', rollout: fakeRollout() };
    },
    find: async () => null,
    row: async () => null,
    pinVersion: async () => environment.version,
  };
  const published = { load: async () => null, beginning: async () => [] };
  const deps = {
    claims,
    clock: createFakeClock(),
    random: createFakeRandom(),
    environments: new PinnedEnvironments(offered([environment]), claims, published),
    rolloutCache: new RolloutCache(),
    canonical: (value: unknown) => JSON.stringify(value),
  };
  const open = { rollout: rolloutId('r'), attempt: 1, item: { id: 'task-1' }, group: null, tags: noTags };
  await openRollout(deps, caller, {
    ...open,
    environment: { name: environment.name, version: null },
    ...changes,
  });
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
