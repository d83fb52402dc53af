import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import {
  connectFleetState,
  type FleetState,
  type FleetStateOptions,
} from '#src/adapters/redis/fleet-state.ts';
import { keysOf } from '#src/adapters/redis/keys.ts';
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
import { noTags, rolloutKey, sandboxAddress, type Owner, type RolloutKey } from '#src/model/rollout.ts';
import type { AdmitRequest, Settlement } from '#src/ports/fleet/calls.ts';
import type { ClaimRequest } from '#src/ports/fleet/claims.ts';
import type { GradeAsk } from '#src/ports/fleet/grades.ts';
import type { RolloutRecord } from '#src/ports/fleet/records.ts';
import { startRedis } from '#test/support/redis.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

export const second = 1_000;
export const minute = 60 * second;
export const template = templateDigest('T');
export const tenant = tenantId('acme');

/** Scripts read this key instead of Redis TIME. */
const clockKey = 'test:clock';
const timeLua = `local function clock() return tonumber(redis.call('GET', '${clockKey}')) end`;
const startMs = 1_800_000_000_000;

export type World = {
  /** How another process of the fleet connects. */
  readonly options: FleetStateOptions;
  readonly fleet: FleetState;
  readonly redis: Redis;
  /** Moves the clock of all scripts; gateways have been in touch all the time. */
  step(byMs: number): Promise<void>;
  /** The clock moves, and no gateway reaches this Redis meanwhile. */
  outage(byMs: number): Promise<void>;
  nowMs(): number;
  /** An empty fleet at the same time of day. */
  reset(): Promise<void>;
  /** Starts sandboxes that are ready at once; returns their names. */
  supply(count: number, of?: typeof template): Promise<readonly string[]>;
  /** A rollout with a sandbox that has accepted it and one settled call. */
  active(name: string, overrides?: Partial<ClaimRequest>): Promise<RolloutRecord>;
  /** A rollout whose call `call` is running. */
  running(name: string, call?: string): Promise<RolloutRecord>;
  stop(): Promise<void>;
};

/** A fleet in a Redis of its own, whose clock only moves when a test says so. */
export async function startWorld(): Promise<World> {
  const server = await startRedis();
  const redis = new Redis(server.socket);
  const options = {
    url: server.socket,
    fleet: 'test',
    // Two thousand claims at once take a busy machine longer than a fleet would wait.
    commandTimeoutMs: 60_000,
    onTrouble: () => undefined,
    timeLua,
  };
  const fleet = await connectFleetState(options);
  let clockMs = startMs;
  let sandboxes = 0;

  const set = () => redis.set(clockKey, clockMs);
  const inTouch = () => redis.set(keysOf('test')('contact'), clockMs);
  const supply = async (count: number, of = template) => {
    const names: string[] = [];
    for (let index = 0; index < count; index += 1) {
      const name = `sandbox-${(sandboxes += 1)}`;
      const target = { template: of, minReady: 1_000, max: 10_000 };
      await reserveOne(fleet.pool, sandboxId(name), [target], 1_000, minute);
      await fleet.pool.ready(sandboxId(name), bootId(`boot-${name}`), sandboxAddress(`unix:/run/${name}`));
      names.push(name);
    }
    return names;
  };
  const running = async (name: string, call = 'call-1') => {
    const rollout = await held(fleet, claimOf(name));
    const reply = await fleet.calls.admit(admitOf(rollout, call));
    if (reply.kind !== 'dispatch') throw new Error(`not dispatched: ${reply.kind}`);
    return reply.rollout;
  };
  return {
    options,
    fleet,
    redis,
    supply,
    running,
    nowMs: () => clockMs,
    step: async (byMs) => {
      clockMs += byMs;
      await set();
      await inTouch();
    },
    outage: async (byMs) => {
      clockMs += byMs;
      await set();
    },
    reset: async () => {
      await redis.flushall();
      clockMs = startMs;
      await set();
      await inTouch();
      await fleet.adoptRedis('empty');
    },
    active: async (name, overrides = {}) => {
      const rollout = await held(fleet, claimOf(name, overrides));
      await fleet.calls.admit(admitOf(rollout, 'call-1'));
      await fleet.calls.settle(settlementOf(rollout.key, 'call-1'));
      return recordOf(fleet, rollout.key);
    },
    stop: async () => {
      redis.disconnect();
      await fleet.close();
      await server.stop();
    },
  };
}

/** The world of a file of tests: started before them, stopped after them, and empty before each, but for so many ready sandboxes. */
export function worldOfTests(ready = 0): World {
  const world = {} as World;
  beforeAll(async () => {
    Object.assign(world, await startWorld());
  });
  afterAll(() => world.stop());
  beforeEach(async () => {
    await world.reset();
    await world.supply(ready);
  });
  return world;
}

/** How many commands Redis carries out meanwhile, those of scripts included. */
export async function commandsOf(redis: Redis, ask: () => Promise<unknown>): Promise<number> {
  const soFar = async () =>
    [...(await redis.info('commandstats')).matchAll(/:calls=(\d+),/g)].reduce(
      (sum, [, calls]) => sum + Number(calls),
      0,
    );
  const before = await soFar();
  await ask();
  return (await soFar()) - before;
}

export function ownerOf(name: string, run = 'run-1', attempt = 1): Owner {
  return { tenant, run: runId(run), rollout: rolloutId(name), attempt, role: 'policy' };
}

export const keyOf = (name: string, run = 'run-1', attempt = 1): RolloutKey =>
  rolloutKey(ownerOf(name, run, attempt));

export function claimOf(name: string, overrides: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    owner: ownerOf(name),
    face: 'rft',
    environment: environmentName('code'),
    version: environmentVersion('v1'),
    template,
    itemKey: itemKey('task-1'),
    itemDigest: null,
    tags: noTags,
    needs: null,
    item: '{"id":"task-1"}',
    idleMs: 15 * minute,
    hardLifeMs: 120 * minute,
    ...overrides,
  };
}

let asked = 0;

/** Each is asked for by somebody else. */
export function gradeAsk(overrides: Partial<GradeAsk> = {}): GradeAsk {
  asked += 1;
  return { by: `asking-${asked}`, gradeMs: 30 * minute, inSandbox: false, seenIn: null, ...overrides };
}

export function admitOf(
  rollout: RolloutRecord,
  call: string,
  overrides: Partial<AdmitRequest> = {},
): AdmitRequest {
  const { generation, epoch } = rollout;
  return {
    key: rollout.key,
    call: callId(call),
    sender: 'try-1',
    tool: 'shell',
    digest: 'd'.repeat(64),
    timeoutMs: 2 * minute,
    idleMs: 15 * minute,
    budget: { toolCalls: 40, rolloutMs: 30 * minute },
    activation: epoch === null ? null : { generation, boot: epoch.boot, idsApart: true },
    ...overrides,
  };
}

export function settlementOf(key: RolloutKey, call: string, overrides: Partial<Settlement> = {}): Settlement {
  return {
    key,
    call: callId(call),
    digest: 'd'.repeat(64),
    tool: 'shell',
    outcome: 'completed',
    code: null,
    admitted: 'yes',
    exitCode: 0,
    durationMs: 120,
    waitedMs: 3,
    outputBytes: 12,
    isAnswered: true,
    taint: null,
    idleMs: 15 * minute,
    ...overrides,
  };
}

export async function held(fleet: FleetState, request: ClaimRequest): Promise<RolloutRecord> {
  const reply = await fleet.claims.claim(request);
  if (reply.kind !== 'held') throw new Error(`not held: ${reply.kind}`);
  return reply.rollout;
}

export async function recordOf(fleet: Pick<FleetState, 'claims'>, key: RolloutKey): Promise<RolloutRecord> {
  const [tenantPart, run, rollout, attempt] = key.split('/').map(decodeURIComponent);
  const owner = ownerOf(rollout ?? '', run);
  const record = await fleet.claims.find({ ...owner, tenant: tenantId(tenantPart ?? '') }, Number(attempt));
  if (record === null) throw new Error(`no such rollout: ${key}`);
  return record;
}

/** The sandbox a rollout has (or had, when it is tainted or closed). */
export function sandboxOf(rollout: RolloutRecord) {
  if (rollout.epoch === null) throw new Error(`${rollout.key} has no sandbox`);
  return rollout.epoch.sandbox;
}

export async function drainingOf(fleet: FleetState): Promise<readonly string[]> {
  return fleet.pool.draining(1_000);
}
