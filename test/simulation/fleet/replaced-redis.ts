import { goAway, resolveReplicaWaits, type RedisHost } from './redis-line.ts';

/** Another Redis that holds nothing takes the place of the fleet's, and answers after `awayMs`. */
export async function forgetEverything(redis: RedisHost, awayMs: number): Promise<void> {
  replaced(redis, awayMs, Number.NEGATIVE_INFINITY);
  await redis.scripts.empty();
  redis.kept = null;
}

/** The copy made at `missedFromMs` takes its place, and has missed what was written since then. */
export async function promoteReplica(redis: RedisHost, awayMs: number, missedFromMs: number): Promise<void> {
  replaced(redis, awayMs, missedFromMs);
  await redis.scripts.promoteCopy();
  redis.kept = redis.scripts.state;
}

function replaced(redis: RedisHost, awayMs: number, missedFromMs: number): void {
  const { nowMs } = redis.scheduler;
  goAway(redis, awayMs);
  resolveReplicaWaits(redis, false);
  redis.replacedMs.push(nowMs);
  redis.missedFromMs.push(missedFromMs);
  redis.run = `redis-${1 + redis.replacedMs.length}`;
}
