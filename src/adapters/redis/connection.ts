import { Redis } from 'ioredis';
import type { RedisOptions } from 'ioredis';
import { classifyTrouble, unavailable } from './redis-trouble.ts';

export type ConnectionOptions = {
  /** `redis://host:port/db`, `rediss://…`, or the path of a unix socket. */
  readonly url: string;
  /** After this a command counts as unanswered, and a connection as not made. */
  readonly commandTimeoutMs: number;
  /** Told of connection errors, which ioredis then mends by itself. */
  readonly onTrouble: (error: Error) => void;
};

/**
 * One connection that knows which Redis it speaks to.
 *
 *   connecting ──ready, run_id read──▶ identified ──lost──▶ connecting
 *
 * Only while it is identified it sends anything; before that, commands fail at once with `state_unavailable` instead of
 * waiting in a queue that nobody bounds. A reconnection may reach another Redis, so the id is read again each time.
 */
export class Connection {
  readonly client: Redis;
  #redisRun: string | null = null;
  #closed = false;

  private constructor(client: Redis, onTrouble: (error: Error) => void) {
    this.client = client;
    client.on('error', onTrouble);
    client.on('close', () => {
      this.#redisRun = null;
    });
  }

  /** Resolves when it is identified; throws `Failure('state_unavailable')` when Redis cannot be reached. */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const client = newClient(options);
    const connection = new Connection(client, options.onTrouble);
    try {
      await client.connect();
      await connection.#identify();
    } catch (thrown) {
      client.disconnect();
      throw classifyTrouble(thrown);
    }
    client.on('ready', () => {
      // Without an id nothing can be sent; a new connection asks again.
      connection.#identify().catch(() => client.disconnect(!connection.#closed));
    });
    return connection;
  }

  /** `run_id` of the Redis at the other end. Throws `Failure('state_unavailable')` while there is none. */
  get redisRun(): string {
    if (this.#redisRun === null) throw unavailable('not connected');
    return this.#redisRun;
  }

  close(): void {
    this.#closed = true;
    this.client.disconnect();
  }

  async #identify(): Promise<void> {
    const info = await this.client.info('server');
    const redisRun = /^run_id:(\w+)/m.exec(info)?.[1];
    if (redisRun === undefined) throw unavailable('INFO names no run_id');
    this.#redisRun = redisRun;
  }
}

/** A client for messages only: it keeps its subscriptions over reconnections and needs no identity. */
export async function openSubscriber(options: ConnectionOptions): Promise<Redis> {
  const client = newClient(options);
  client.on('error', options.onTrouble);
  try {
    await client.connect();
    return client;
  } catch (thrown) {
    client.disconnect();
    throw classifyTrouble(thrown);
  }
}

function newClient({ url, commandTimeoutMs }: ConnectionOptions): Redis {
  const settings = {
    lazyConnect: true,
    commandTimeout: commandTimeoutMs,
    connectTimeout: commandTimeoutMs,
    // What was not answered fails: our callers know best whether to send it again.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 6), 2_000),
  } satisfies RedisOptions;
  return new Redis(url, settings);
}
