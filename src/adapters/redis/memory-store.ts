import type { Redis } from 'ioredis';
import type { FleetMemory, Leftover, LifeLeft } from '#src/ports/fleet/server.ts';
import type { KeyName, Keys } from './keys.ts';
import { classifyTrouble } from './redis-trouble.ts';

const keyOfLeftover = { details: 'details', summaries: 'calls' } as const satisfies Readonly<
  Record<Leftover, KeyName>
>;

/** Keys of one SCAN: some milliseconds of Redis at most. */
const scanned = 500;

/** Plain commands that need no memory: at its limit Redis refuses every script that could write. */
export function memoryStore(client: Redis, keys: Keys): FleetMemory {
  const usage: FleetMemory['usage'] = async () => {
    const info = await client.info('memory').catch(rethrow);
    const limitBytes = numberIn(info, 'maxmemory');
    return { usedBytes: numberIn(info, 'used_memory'), limitBytes: limitBytes === 0 ? null : limitBytes };
  };
  return {
    usage,
    forget: async (leftover, left, untilBytes) => {
      let forgotten = 0;
      let cursor = '0';
      do {
        const [next, found] = await client
          .scan(cursor, 'MATCH', keys(keyOfLeftover[leftover], '*'), 'COUNT', scanned)
          .catch(rethrow);
        cursor = next;
        const due = await endingWithin(client, found, left);
        if (due.length > 0) await client.unlink(due).catch(rethrow);
        forgotten += due.length;
      } while (cursor !== '0' && (await usage()).usedBytes > untilBytes);
      return forgotten;
    },
    refuseOpens: async (forMs) => void (await client.set(keys('full'), '1', 'PX', forMs).catch(rethrow)),
  };
}

/** What has no end belongs to an open rollout. */
async function endingWithin(client: Redis, keys: readonly string[], left: LifeLeft): Promise<string[]> {
  const lives = await Promise.all(keys.map((key) => client.pttl(key))).catch(rethrow);
  return keys.filter((_, place) => isWithin(lives[place] ?? -1, left));
}

const isWithin = (lifeMs: number, { fromMs, toMs }: LifeLeft) =>
  lifeMs >= 0 && lifeMs >= fromMs && lifeMs <= toMs;

function numberIn(info: string, name: string): number {
  return Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
}

function rethrow(thrown: unknown): never {
  throw classifyTrouble(thrown);
}
