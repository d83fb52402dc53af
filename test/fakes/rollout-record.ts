import {
  bootId,
  callId,
  environmentName,
  environmentVersion,
  itemKey,
  rolloutId,
  runId,
  sandboxId,
  templateDigest,
  tenantId,
} from '#src/model/ids.ts';
import { noTags, type Owner, rolloutKey, sandboxAddress } from '#src/model/rollout.ts';
import type { CallSummary, RolloutRecord } from '#src/ports/fleet/records.ts';

export function fakeOwner(rollout = 'rollout-1'): Owner {
  return {
    tenant: tenantId('tenant-1'),
    run: runId('run-1'),
    rollout: rolloutId(rollout),
    attempt: 1,
    role: 'policy',
  };
}

/** An active rollout, or one in the given state, with all that belongs to it; what a test is about is given. */
export function fakeRollout(given: Partial<RolloutRecord> = {}): RolloutRecord {
  const owner = given.owner ?? fakeOwner();
  const state = given.state ?? 'active';
  return {
    key: rolloutKey(owner),
    owner,
    face: 'rft',
    environment: environmentName('plain'),
    version: environmentVersion('version-1'),
    template: templateDigest('template-a'),
    itemKey: itemKey('item-1'),
    itemDigest: null,
    wave: 1,
    tags: noTags,
    needs: null,
    hadRow: false,
    generation: 1,
    heals: 0,
    healing: null,
    ...(state === 'waiting' ? withoutSandbox : inSandbox),
    ...(state === 'closed' || state === 'expired' ? ended(state) : goingOn),
    verdict: given.discarded ? 'discarded' : 'open',
    discarded: null,
    barred: given.discarded?.code ?? null,
    broken: null,
    calls: 0,
    inFlight: 0,
    placedAtMs: 1_000,
    leaseUntilMs: 900_000,
    score: null,
    voidedAtMs: null,
    voidReason: null,
    backgroundMs: 0,
    ...given,
    state,
  };
}

const inSandbox = {
  epoch: { sandbox: sandboxId('sandbox-1'), boot: bootId('boot-1') },
  idsApartIn: bootId('boot-1'),
  address: sandboxAddress('unix:/run/sandbox-1'),
  launchType: 'warm',
  claimedAtMs: 2_000,
  activeAtMs: 3_000,
} as const;

const withoutSandbox = {
  epoch: null,
  idsApartIn: null,
  address: null,
  launchType: null,
  claimedAtMs: null,
  activeAtMs: null,
} as const;

const goingOn = { closedAtMs: null, closedBy: null } as const;

const ended = (state: 'closed' | 'expired') => ({
  closedAtMs: 4_000,
  closedBy: state === 'closed' ? 'finished' : 'idle',
});

/** Of a call whose outcome nobody knows. */
export function fakeCallSummary(given: Partial<CallSummary> = {}): CallSummary {
  return {
    call: callId('c1'),
    tool: 'shell',
    state: 'settled',
    outcome: 'infrastructure_failure',
    code: 'outcome_unknown',
    admitted: 'unknown',
    exitCode: null,
    startedAtMs: 1,
    durationMs: null,
    waitedMs: 0,
    outputBytes: 0,
    sandbox: null,
    ...given,
  };
}
