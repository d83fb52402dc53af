import { readFileSync } from 'node:fs';
import { Redis, type RedisOptions } from 'ioredis';
import { longestPauseMs } from '#src/waiting/retries.ts';
import { retryPolicies } from '#src/waiting/retry-policies.ts';

/** Files whose content is read again at each connection, so that a change of theirs needs no restart; null: none. */
export type RedisFiles = {
  readonly username: string | null;
  readonly password: string | null;
  readonly sentinelPassword: string | null;
  /** Certificates of whoever signed those of Redis and its sentinels. */
  readonly ca: string | null;
};

export const noFiles: RedisFiles = { username: null, password: null, sentinelPassword: null, ca: null };

/** Replies always have the shapes of RESP2, whatever is spoken. */
type Traits = Omit<RedisOptions, 'replyMapping'>;

export type RedisAccess = { readonly url: string; readonly files: RedisFiles };

/** A script takes well under a millisecond, and a connection on one network little more: after this, Redis is away. */
const connectTimeoutMs = 2_000;
/**
 * A peer that is gone without a word is found out by silence alone. Whatever a connection waits for, something is asked on
 * it this often, and one that is silent for this long while it owes an answer is given up: 6 s at the most from the last
 * sign of life, and then one connection more, which is within 10 s. A blocking read must end well within the silence.
 */
const pulseMs = 2_000;
export const silenceMs = 4_000;

/** A Redis that cannot serve writes now: by another connection there may be one that can. */
const elsewhere = /^(READONLY|LOADING|MASTERDOWN|NOAUTH)\b/;
export const isElsewhere = (error: Error) => elsewhere.test(error.message);

/** One that lived shorter than this was of no use: a replica, or one that is still loading. */
const usefulMs = 1_000;

/** What every connection of ours has, whoever it belongs to. */
const steady = {
  lazyConnect: true,
  connectTimeout: connectTimeoutMs,
  socketTimeout: silenceMs,
  // A half-open connection never says good-bye.
  disconnectTimeout: 500,
  maxLoadingRetryTime: 500,
} satisfies RedisOptions;

/**
 * A connection to Redis that comes back by itself, whatever became of the other end: restarted, silent, demoted to a
 * replica, or with another password. It connects when it is told to; a duplicate at once, because only BullMQ makes any,
 * which expects it.
 */
export function createClient(access: RedisAccess, traits: Traits): Redis {
  let readyAtMs = -usefulMs;
  const settings: Traits = {
    ...steady,
    retryStrategy: (tries) => retryMs(tries, performance.now() - readyAtMs),
    reconnectOnError: isElsewhere,
    ...endpointOf(access.url),
    ...traits,
  };
  const client = new Redis(settings);
  client.on('ready', () => (readyAtMs = performance.now()));
  // Whoever cares listens, too; without anybody the library would print them.
  client.on('error', () => undefined);
  keepPulse(client);
  const connect = client.connect.bind(client);
  const own: Pick<Redis, 'connect'> & { readonly duplicate: (changes?: Traits) => Redis } = {
    connect: (callback) => {
      readFiles(client, access.files);
      return connect(callback);
    },
    duplicate: (changes) => duplicate(access, { ...traits, ...changes }),
  };
  Object.assign(client, own);
  return client;
}

function duplicate(access: RedisAccess, traits: Traits): Redis {
  const twin = createClient(access, traits);
  // It tries again by itself; who waits for it hears of it as an event.
  twin.connect().catch(() => undefined);
  return twin;
}

/** Something is always asked, so that silence is noticed. */
function keepPulse(client: Redis): void {
  let pulse: NodeJS.Timeout | undefined;
  const stop = () => clearInterval(pulse);
  client.on('ready', () => {
    stop();
    pulse = setInterval(() => void client.ping().catch(() => undefined), pulseMs).unref();
  });
  client.on('close', stop);
}

/**
 * At once, because a connection that waits for a file cannot be called off; they are a few bytes, in memory where they are
 * Secrets. One that cannot be read just now leaves what was read before, and is told.
 */
function readFiles(client: Redis, files: RedisFiles): void {
  const { options } = client;
  const read = (path: string | null, take: (text: string) => void) => {
    if (path === null) return;
    try {
      take(readFileSync(path, 'utf8'));
    } catch (thrown) {
      client.emit('error', thrown);
    }
  };
  read(files.username, (text) => (options.username = text.trim()));
  read(files.password, (text) => (options.password = text.trim()));
  read(files.sentinelPassword, (text) => (options.sentinelPassword = text.trim()));
  read(files.ca, (ca) => {
    if (options.tls) options.tls = { ...options.tls, ca };
    if (options.sentinelTLS) options.sentinelTLS = { ...options.sentinelTLS, ca };
  });
}

function retryMs(tries: number, sinceReadyMs: number): number {
  const backOffMs = longestPauseMs(retryPolicies.redisConnection.pauses, tries);
  return tries === 1 && sinceReadyMs < usefulMs ? Math.max(backOffMs, usefulMs / 2) : backOffMs;
}

/** `rediss-sentinel://user:password@host:26379,host:26379/name/0`: the sentinels, and the name of what they watch. */
const sentinelSchemes = ['redis-sentinel://', 'rediss-sentinel://'] as const;
const sentinelPort = 26_379;

/** What is asked of a sentinel is one word, and the next one is as good. */
const sentinelTimeoutMs = 1_000;

/**
 * Where Redis is, as options of the client library: a `redis://` or `rediss://` URL, the path of a unix socket, or
 * sentinels that know. Credentials come percent-encoded in the URL, or from files at each connection.
 */
export function endpointOf(address: string): RedisOptions {
  if (address.startsWith('/')) return { path: address };
  const scheme = sentinelSchemes.find((one) => address.startsWith(one));
  if (scheme !== undefined) return sentinelsOf(scheme, address.slice(scheme.length));
  const url = new URL(address);
  return {
    host: bare(url.hostname),
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1) || 0),
    ...credentials(url.username, url.password),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

function sentinelsOf(scheme: (typeof sentinelSchemes)[number], rest: string): RedisOptions {
  const at = rest.lastIndexOf('@');
  const [username = '', password = ''] = at === -1 ? [] : rest.slice(0, at).split(':');
  const [hosts = '', name = '', db = '0'] = rest.slice(at + 1).split('/');
  return {
    sentinels: hosts.split(',').map(hostAndPort),
    name: decodeURIComponent(name),
    db: Number(db),
    role: 'master',
    sentinelCommandTimeout: sentinelTimeoutMs,
    sentinelRetryStrategy: () => sentinelTimeoutMs,
    ...credentials(username, password),
    ...(scheme === 'rediss-sentinel://' ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  };
}

function credentials(username: string, password: string): RedisOptions {
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}

/** An IPv6 address stands in brackets, as in a URL. */
function hostAndPort(text: string): { readonly host: string; readonly port: number } {
  const { hostname, port } = new URL(`redis://${text.trim()}`);
  return { host: bare(hostname), port: Number(port || sentinelPort) };
}

const bare = (hostname: string) => (hostname.startsWith('[') ? hostname.slice(1, -1) : hostname);
