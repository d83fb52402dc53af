import type { RedisOptions } from 'bullmq';

/** Where Redis is: a `redis://` or `rediss://` URL, or the path of a unix socket. */
export type RedisAddress = string;

/**
 * Connection of the side that offers tickets: an answer or an error within seconds, because the loop that offers them
 * comes again anyway and must not pile commands up while Redis is away.
 */
export function offeringConnection(address: RedisAddress): RedisOptions {
  return {
    ...endpoint(address),
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    commandTimeout: commandTimeoutMs,
  };
}

/** Connection of a worker: it waits for Redis as long as it takes, which BullMQ demands of it. */
export function workingConnection(address: RedisAddress): RedisOptions {
  return { ...endpoint(address), maxRetriesPerRequest: null };
}

/** A script takes well under a millisecond; after this, Redis is not slow but away. */
const commandTimeoutMs = 2_000;

/** Reconnects quickly at first (a restart takes a second) and then once in two seconds for as long as it takes. */
const retryStrategy = (tries: number) => Math.min(tries * 50, 2_000);

function endpoint(address: RedisAddress): RedisOptions {
  if (address.startsWith('/')) return { path: address, retryStrategy };
  const url = new URL(address);
  return {
    host: url.hostname,
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1) || 0),
    retryStrategy,
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  };
}
