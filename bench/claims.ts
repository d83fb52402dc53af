import { Redis } from 'ioredis';
import { connectFleetState } from '../src/adapters/redis/fleet-state.ts';
import type { FleetState } from '../src/adapters/redis/fleet-state.ts';
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
} from '../src/model/ids.ts';
import { noTags, sandboxAddress } from '../src/model/rollout.ts';
import { startRedis } from '../test/support/redis.ts';
import { atLeast, median } from './figures.ts';
import type { Benchmark } from './figures.ts';

const burst = 500;
const rounds = 9;
const template = templateDigest('bench');

/** Five hundred claims in one instant against as many plain writes, both over one connection to the same Redis. */
export const claims: Benchmark = {
  name: 'claims',
  run: async (say) => {
    const redis = await startRedis();
    const onTrouble = (error: Error) => say(error.message);
    const state = await connectFleetState({
      url: redis.socket,
      fleet: 'bench',
      commandTimeoutMs: 30_000,
      onTrouble,
    });
    const plain = new Redis(redis.socket);
    try {
      await state.adoptRedis('empty');
      const rates = { claims: [] as number[], writes: [] as number[] };
      for (let round = 0; round < rounds; round += 1) {
        await fillPool(state, round);
        rates.claims.push(await rate((index) => claim(state, `rollout-${round}-${index}`)));
        rates.writes.push(await rate((index) => plain.set(`plain-${round}-${index}`, 'x'.repeat(100))));
      }
      const what = `${burst} claims at once, a second, median of ${rounds}`;
      return [atLeast({ what, unit: '/s', value: median(rates.claims), floor: median(rates.writes) }, 0.2)];
    } finally {
      plain.disconnect();
      await state.close();
      await redis.stop();
    }
  },
};

async function fillPool(state: FleetState, round: number): Promise<void> {
  const target = { template, minReady: Number.MAX_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER };
  for (let index = 0; index < burst; index += 1) {
    const sandbox = sandboxId(`sb-${round}-${index}`);
    await state.pool.reserve(`ticket-${round}-${index}`, sandbox, [target], burst, 600_000);
    await state.pool.ready(sandbox, bootId('boot'), sandboxAddress('unix:/nowhere'));
  }
}

async function claim(state: FleetState, rollout: string): Promise<void> {
  const reply = await state.claims.claim({
    owner: {
      tenant: tenantId('bench'),
      run: runId('bench'),
      rollout: rolloutId(rollout),
      attempt: 1,
      role: 'policy',
    },
    face: 'rft',
    environment: environmentName('bench'),
    version: environmentVersion('bench'),
    template,
    itemKey: itemKey('item'),
    tags: noTags,
    item: null,
    idleMs: 900_000,
    hardLifeMs: 7_200_000,
  });
  if (reply.kind !== 'held') throw new Error(`${rollout} got no sandbox: ${reply.kind}`);
}

async function rate(work: (index: number) => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await Promise.all(Array.from({ length: burst }, (_, index) => work(index)));
  return (burst * 1_000) / (performance.now() - start);
}
