import {
  environmentName,
  environmentVersion,
  itemKey,
  rolloutId,
  runId,
  templateDigest,
  tenantId,
} from '../../src/model/ids.ts';
import { noTags, rolloutKey } from '../../src/model/rollout.ts';
import type { Owner } from '../../src/model/rollout.ts';
import type { RolloutRecord } from '../../src/ports/fleet/records.ts';

export function fakeOwner(rollout = 'rollout-1'): Owner {
  return {
    tenant: tenantId('tenant-1'),
    run: runId('run-1'),
    rollout: rolloutId(rollout),
    attempt: 1,
    role: 'policy',
  };
}

/** An active rollout without a sandbox; what a test is about is given. */
export function fakeRollout(given: Partial<RolloutRecord> = {}): RolloutRecord {
  const owner = given.owner ?? fakeOwner();
  return {
    key: rolloutKey(owner),
    owner,
    state: 'active',
    face: 'rft',
    environment: environmentName('plain'),
    version: environmentVersion('version-1'),
    template: templateDigest('template-a'),
    itemKey: itemKey('item-1'),
    wave: 1,
    tags: noTags,
    item: null,
    generation: 1,
    epoch: null,
    address: null,
    launchType: null,
    taint: null,
    broken: null,
    calls: 0,
    inFlight: 0,
    placedAtMs: 1_000,
    claimedAtMs: 2_000,
    activeAtMs: null,
    closedAtMs: null,
    leaseUntilMs: 900_000,
    score: null,
    discard: null,
    closedBy: null,
    ...given,
  };
}
