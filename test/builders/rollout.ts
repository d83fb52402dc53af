import {
  bootId,
  environmentName,
  environmentVersion,
  itemKey,
  rolloutId,
  runId,
  sandboxId,
  templateDigest,
  tenantId,
} from '../../src/model/ids.ts';
import { rolloutKey, sandboxAddress } from '../../src/model/rollout.ts';
import type { Owner } from '../../src/model/rollout.ts';
import type { RolloutRecord } from '../../src/ports/fleet/records.ts';

/** An owner, valid by default; override what the test is about. */
export function anOwner(over: Partial<Owner> = {}): Owner {
  return {
    tenant: tenantId('lab'),
    run: runId('run-1'),
    rollout: rolloutId('trace_1'),
    attempt: 1,
    role: 'policy',
    ...over,
  };
}

/** An active rollout in its sandbox; override what the test is about. */
export function aRollout(over: Partial<RolloutRecord> = {}): RolloutRecord {
  const owner = over.owner ?? anOwner();
  return {
    key: rolloutKey(owner),
    owner,
    state: 'active',
    face: 'rft',
    environment: environmentName('shell'),
    version: environmentVersion('0'.repeat(64)),
    template: templateDigest('1'.repeat(64)),
    itemKey: itemKey('item-1'),
    wave: 1,
    item: null,
    generation: 1,
    epoch: { sandbox: sandboxId('sb-1'), boot: bootId('boot-1') },
    address: sandboxAddress('unix:/nowhere'),
    launchType: 'warm',
    taint: null,
    broken: null,
    calls: 0,
    inFlight: 0,
    placedAtMs: 0,
    claimedAtMs: 0,
    activeAtMs: 0,
    closedAtMs: null,
    leaseUntilMs: 900_000,
    score: null,
    closedBy: null,
    ...over,
  };
}
