import type { Redis } from 'ioredis';
import { createClient, isElsewhere, type RedisAccess } from '../redis-client/client.ts';

/** A script takes well under a millisecond; after this, Redis is not slow but away. */
const commandTimeoutMs = 2_000;

/**
 * Connection of the side that adds launches: an answer or an error within seconds, because the loop that offers them
 * comes again anyway and must not pile commands up while Redis is away.
 */
export function offeringConnection(access: RedisAccess): Redis {
  const client = createClient(access, {
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    commandTimeout: commandTimeoutMs,
  });
  // It tries again by itself, and BullMQ waits for it.
  client.connect().catch(() => undefined);
  return client;
}

/** ioredis' word for: reconnect, then send the command again. */
const sendAgain = 2;

/**
 * What a worker makes its connections from, which is none itself. They wait for Redis as long as it takes, which BullMQ
 * demands of them; what a replica refused is sent again to whoever takes its place.
 */
export function workingConnection(access: RedisAccess): Redis {
  return createClient(access, {
    maxRetriesPerRequest: null,
    reconnectOnError: (error) => (isElsewhere(error) ? sendAgain : false),
  });
}
