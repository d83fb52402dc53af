import type { RedisOptions } from 'ioredis';

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
