import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { StateServer } from '#src/ports/fleet/server.ts';
import { createClient, noFiles, type RedisFiles } from '../redis-client/client.ts';
import { classifyTrouble, unavailable, UnfitRedis } from './redis-trouble.ts';

export type ConnectionOptions = {
  /** `redis://host:port/db`, `rediss://…`, `redis-sentinel://…`, or the path of a unix socket. */
  readonly url: string;
  readonly files?: RedisFiles;
  /** A Redis that forgets keys when its memory is full is refused, unless this is set. */
  readonly mayEvict?: boolean;
  /** After this a command counts as unanswered, and a connection as not made. */
  readonly commandTimeoutMs: number;
  /** Told how long each script of fleet state took, also one that failed or was given up. */
  readonly onScript?: (tookMs: number) => void;
  /** Told of connection errors, which ioredis then fixes by itself. */
  readonly onTrouble: (error: Error) => void;
};

/**
 * One connection that knows which Redis it speaks to.
 *
 *   connecting ──ready, run_id read──▶ identified ──lost──▶ connecting
 *
 * Only while it is identified it sends anything; before that, commands fail at once with `state_unavailable` instead of
 * waiting in a queue that nobody bounds. A reconnection may reach another Redis, so the id is read again each time; a
 * replica is left again, because the writable one may be there by the next time.
 */
export class Connection {
  readonly client: Redis;
  readonly #options: ConnectionOptions;
  #redisRun: string | null = null;
  #server: StateServer | null = null;
  #trouble = 'not connected';
  #closed = false;

  private constructor(client: Redis, options: ConnectionOptions) {
    this.client = client;
    this.#options = options;
    client.on('error', (error: Error) => {
      this.#trouble = error.message;
      options.onTrouble(error);
    });
    client.on('close', () => {
      this.#redisRun = null;
    });
  }

  /**
   * Resolves when it is identified; throws `Failure('state_unavailable')` when Redis cannot be reached, and
   * {@link UnfitRedis}.
   */
  static async open(options: ConnectionOptions): Promise<Connection> {
    const connection = new Connection(newClient(options), options);
    const { client } = connection;
    try {
      await connected(client, options.commandTimeoutMs).catch(() => {
        throw unavailable(connection.#trouble);
      });
      const unfit = await connection.#identify();
      if (unfit !== null) throw new UnfitRedis(unfit);
    } catch (thrown) {
      connection.close();
      throw classifyTrouble(thrown);
    }
    client.on('ready', () => void connection.#identifyAgain());
    return connection;
  }

  /** `run_id` of the Redis at the other end. Throws `Failure('state_unavailable')` while there is none. */
  get redisRun(): string {
    if (this.#redisRun === null) throw unavailable(this.#trouble);
    return this.#redisRun;
  }

  /**
   * What Redis says of itself now, since an operator may change it while we are connected; as it was when last reached
   * where it does not answer, null where it never did. Never throws.
   */
  async describe(): Promise<StateServer | null> {
    const identity = await this.client.info().then(identityOf, () => null);
    if (identity !== null) this.#server = identity.server;
    return this.#server;
  }

  close(): void {
    this.#closed = true;
    this.client.disconnect();
  }

  /** Without an id nothing can be sent; a new connection asks again. One that became unfit serves on, and is told. */
  async #identifyAgain(): Promise<void> {
    try {
      const unfit = await this.#identify();
      if (unfit !== null) this.#options.onTrouble(new UnfitRedis(unfit));
    } catch (thrown) {
      this.#trouble = String(thrown);
      this.client.disconnect(!this.#closed);
    }
  }

  /** Returns why it is unfit; null: it is fit. */
  async #identify(): Promise<string | null> {
    const identity = identityOf(await this.client.info());
    if (identity === null) throw unavailable('INFO names no run_id');
    if (identity.isReplica) throw unavailable('READONLY it is a replica');
    this.#redisRun = identity.redisRun;
    this.#server = identity.server;
    this.#trouble = 'the connection was lost';
    return unfitness(identity.server, this.#options.mayEvict ?? false);
  }
}

/** A client for messages only: it keeps its subscriptions over reconnections and needs no identity. */
export async function openSubscriber(options: ConnectionOptions): Promise<Redis> {
  const client = newClient(options);
  client.on('error', options.onTrouble);
  try {
    await connected(client, options.commandTimeoutMs);
    return client;
  } catch (thrown) {
    client.disconnect();
    throw classifyTrouble(thrown);
  }
}

/** The first try or none: among sentinels the client would look for ever. */
async function connected(client: Redis, timeoutMs: number): Promise<void> {
  const done = new AbortController();
  const late = sleep(connectTries * timeoutMs, null, { signal: done.signal }).then(() => {
    throw unavailable('no connection in time');
  });
  late.catch(() => undefined);
  try {
    await Promise.race([client.connect(), late]);
  } finally {
    done.abort();
  }
}

/** Two sentinels may be silent before the third knows, and then there is the connection itself. */
const connectTries = 4;

function newClient({ url, files = noFiles, commandTimeoutMs }: ConnectionOptions): Redis {
  return createClient(
    { url, files },
    {
      commandTimeout: commandTimeoutMs,
      // What was not answered fails: our callers know best whether to send it again.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      autoResendUnfulfilledCommands: false,
    },
  );
}

/** What INFO tells of the Redis at the other end. */
type Identity = {
  /** Another one after every restart and on every replica. */
  readonly redisRun: string;
  readonly isReplica: boolean;
  readonly server: StateServer;
};

/** Null where it does not name itself, as something else than Redis would not. */
function identityOf(info: string): Identity | null {
  const lines = info.split('\n').map((line) => [line.slice(0, line.indexOf(':')), valueIn(line)] as const);
  const told = new Map(lines);
  const read = (name: string) => told.get(name) ?? '';
  if (read('run_id') === '') return null;
  const limitBytes = Number(read('maxmemory'));
  return {
    redisRun: read('run_id'),
    isReplica: read('role') === 'slave',
    server: {
      version: read('redis_version'),
      evictionPolicy: read('maxmemory_policy'),
      memoryLimitBytes: limitBytes > 0 ? limitBytes : null,
      appendOnly: read('aof_enabled') === '1',
    },
  };
}

const valueIn = (line: string) => line.slice(line.indexOf(':') + 1).trim();

/** Its scripts are functions, which older ones do not have. */
const oldestMajor = 7;

/** Why this server must not hold fleet state, and what to do; null: it may. */
function unfitness(server: StateServer, mayEvict: boolean): string | null {
  const { version, evictionPolicy } = server;
  if (Number.parseInt(version, 10) < oldestMajor)
    return `Redis is version ${version}; fleet state needs ${oldestMajor}.0 or later (or Valkey)`;
  if (evictionPolicy !== '' && evictionPolicy !== 'noeviction' && !mayEvict)
    return `Redis has maxmemory-policy ${evictionPolicy}, which forgets rollouts when its memory is full; set noeviction, or CORRAL_REDIS_MAY_EVICT=1 to live with it`;
  return null;
}

export type Messages = {
  /** Returns how to stop listening. */
  readonly listen: (channel: string, listener: (message: string) => void) => () => void;
};

/** Spreads the messages of some channels to those who listen. A message is a hint, so a lost one costs only time. */
export async function subscribe(client: Redis, channels: readonly string[]): Promise<Messages> {
  const listeners = new Map(channels.map((channel) => [channel, new Set<(message: string) => void>()]));
  client.on('message', (channel: string, message: string) => {
    for (const listener of listeners.get(channel) ?? []) listener(message);
  });
  await client.subscribe(...channels);
  return {
    listen: (channel, listener) => {
      const own = (message: string) => listener(message);
      listeners.get(channel)?.add(own);
      return () => listeners.get(channel)?.delete(own);
    },
  };
}
