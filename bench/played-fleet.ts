import { Redis } from 'ioredis';
import { connectFleetState, type FleetState } from '#src/adapters/redis/fleet-state.ts';
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
} from '#src/model/ids.ts';
import { noTags, sandboxAddress } from '#src/model/rollout.ts';
import type { ClaimRequest } from '#src/ports/fleet/claims.ts';
import type { PoolTarget } from '#src/ports/fleet/pool.ts';
import { startRedis } from '#test/support/redis.ts';
import { reserveOne } from '#test/support/reserve-one.ts';

/** Fleet state alone: a Redis of its own, in which sandboxes are only said to be. */
export type PlayedFleet = {
  readonly state: FleetState;
  /** Another connection, for what the same Redis does without us. */
  readonly plain: Redis;
};

export const playedFleet = 'bench';
export const playedTemplate = templateDigest('bench');

/** An empty fleet for as long as the work lasts. */
export async function withPlayedFleet<Result>(
  say: (line: string) => void,
  work: (fleet: PlayedFleet) => Promise<Result>,
): Promise<Result> {
  const redis = await startRedis();
  const state = await connectFleetState({
    url: redis.socket,
    fleet: playedFleet,
    commandTimeoutMs: 60_000,
    onTrouble: (error) => say(error.message),
  });
  const plain = new Redis(redis.socket);
  try {
    await state.adoptRedis('empty');
    return await work({ state, plain });
  } finally {
    plain.disconnect();
    await state.close();
    await redis.stop();
  }
}

const noLimit = 1_000_000;
const startTimeoutMs = 600_000;

/** Starts one sandbox of what the targets want, ready at once. Throws where they want none. */
export async function startPlayed(
  { pool }: FleetState,
  name: string,
  targets: readonly PoolTarget[],
): Promise<void> {
  const reserved = await reserveOne(pool, sandboxId(name), targets, noLimit, startTimeoutMs);
  if (reserved === null) throw new Error('nothing was to be started');
  await pool.ready(reserved.sandbox, bootId('boot'), sandboxAddress('unix:/nowhere'));
}

/** The one template's pool, which always wants more. */
export const endlessPool: readonly PoolTarget[] = [
  { template: playedTemplate, minReady: noLimit, max: noLimit },
];

/** The claim of a rollout of the one template, without a row. */
export function playedClaim(
  name: string,
  run: string = 'bench',
  changes: Partial<ClaimRequest> = {},
): ClaimRequest {
  return {
    owner: {
      tenant: tenantId('bench'),
      run: runId(run),
      rollout: rolloutId(name),
      attempt: 1,
      role: 'policy',
    },
    face: 'rft',
    environment: environmentName('bench'),
    version: environmentVersion('bench'),
    template: playedTemplate,
    itemKey: itemKey('item'),
    itemDigest: null,
    tags: noTags,
    needs: null,
    item: null,
    idleMs: 900_000,
    hardLifeMs: 7_200_000,
    ...changes,
  };
}
