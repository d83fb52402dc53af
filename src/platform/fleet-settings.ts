import type { ConfigReader } from './config.ts';

/** How to reach Redis. Files are read again whenever a connection is made. */
export type RedisSettings = {
  readonly url: string;
  readonly files: {
    readonly username: string | null;
    readonly password: string | null;
    readonly sentinelPassword: string | null;
    readonly ca: string | null;
  };
  readonly mayEvict: boolean;
};

const schemes = ['redis://', 'rediss://', 'redis-sentinel://', 'rediss-sentinel://'];

const purpose =
  'where Redis is: redis://host:port, rediss://host:port, redis-sentinel://host:port,host:port/name, or the absolute path of its unix socket';

function isAddress(url: string): boolean {
  if (url.startsWith('/')) return true;
  const scheme = schemes.find((one) => url.startsWith(one));
  if (scheme === undefined) return false;
  const [hosts, name] = url.slice(scheme.length).split('/');
  if (scheme.includes('sentinel')) return Boolean(hosts) && Boolean(name);
  return Boolean(hosts) && URL.canParse(url);
}

/** The same variables for every process that speaks to Redis. */
export function readRedisSettings(read: ConfigReader): RedisSettings {
  const url = read.text('CORRAL_REDIS', { purpose });
  if (url !== '' && !isAddress(url)) read.mistake(`CORRAL_REDIS is ${JSON.stringify(url)}: ${purpose}`);
  const ca = read.optional('CORRAL_REDIS_CA_FILE');
  if (ca !== null && !url.startsWith('rediss'))
    read.mistake('CORRAL_REDIS_CA_FILE is set, but CORRAL_REDIS asks for no TLS: write rediss://');
  return {
    url,
    files: {
      ca,
      username: read.optional('CORRAL_REDIS_USERNAME_FILE'),
      password: read.optional('CORRAL_REDIS_PASSWORD_FILE'),
      sentinelPassword: read.optional('CORRAL_REDIS_SENTINEL_PASSWORD_FILE'),
    },
    mayEvict: read.flag('CORRAL_REDIS_MAY_EVICT'),
  };
}

/** Where events go. */
export type EventLogSettings = {
  /** Null: to no folder. */
  readonly folder: string | null;
  readonly stdout: boolean;
  /** Of all files in the folder. */
  readonly maxBytes: number;
};

const mebibyte = 1024 * 1024;

/** The same variables for every process that tells events. */
export function readEventLogSettings(read: ConfigReader): EventLogSettings {
  const to = read.choice('CORRAL_EVENT_LOG_TO', ['folder', 'stdout', 'folder,stdout'], {
    fallback: 'folder',
  });
  const folder = read.optional('CORRAL_EVENT_LOG_DIR');
  if (to !== 'stdout' && folder === null) {
    read.mistake(
      'CORRAL_EVENT_LOG_DIR is not set: the folder of the event log; or set CORRAL_EVENT_LOG_TO=stdout',
    );
  }
  return {
    folder: to === 'stdout' ? null : folder,
    stdout: to !== 'folder',
    maxBytes: read.whole('CORRAL_EVENT_LOG_MAX_BYTES', {
      purpose: "bytes of the event log's files",
      // Some 2 KB an event: two million, and less than the disk of any pod.
      fallback: 4 * 1024 * mebibyte,
      // Below it a single file would hardly be worth its name.
      min: 64 * mebibyte,
      max: Number.MAX_SAFE_INTEGER,
    }),
  };
}
