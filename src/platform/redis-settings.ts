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
