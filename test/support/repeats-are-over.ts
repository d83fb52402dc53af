import type { Redis } from 'ioredis';

const repeatsMs = 40 * 60_000;

/** So long after all ends that no request of then is repeated: what ends by itself by then is gone. */
export async function repeatsAreOver(redis: Redis): Promise<void> {
  for await (const names of redis.scanStream({ count: 1_000 }) as AsyncIterable<string[]>) {
    const lives = await Promise.all(names.map((name) => redis.pttl(name)));
    const due = names.filter((_, place) => isWithin(lives[place] ?? -1));
    if (due.length > 0) await redis.del(due);
  }
}

/** What has no end belongs to an open rollout, or to the fleet. */
const isWithin = (lifeMs: number) => lifeMs >= 0 && lifeMs <= repeatsMs;
