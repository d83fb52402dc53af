import type { RedisOptions } from 'ioredis';

/** `rediss-sentinel://user:password@host:26379,host:26379/name/0`: the sentinels, and the name of what they watch. */
const sentinelUrl =
  /^(?<scheme>rediss?)-sentinel:\/\/(?:(?<username>[^:@/]*):(?<password>[^@/]*)@)?(?<hosts>[^@/]+)\/(?<name>[^/]+)(?:\/(?<db>\d+))?$/;
const sentinelPort = 26_379;

/** What is asked of a sentinel is one word, and the next one is as good. */
const sentinelTimeoutMs = 1_000;

/**
 * Where Redis is, as options of the client library: a `redis://` or `rediss://` URL, the path of a unix socket, or
 * sentinels that know. Credentials come percent-encoded in the URL, or from files at each connection.
 */
export function endpointOf(address: string): RedisOptions {
  if (address.startsWith('/')) return { path: address };
  const sentinels = sentinelUrl.exec(address)?.groups;
  if (sentinels !== undefined) return sentinelsOf(sentinels);
  const url = new URL(address);
  return {
    host: url.hostname.replaceAll(/[[\]]/g, ''),
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1) || 0),
    ...credentials(url.username, url.password),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

function sentinelsOf(parts: Readonly<Record<string, string | undefined>>): RedisOptions {
  const { scheme, username = '', password = '', hosts = '', name = '', db } = parts;
  return {
    sentinels: hosts.split(',').map(hostAndPort),
    name: decodeURIComponent(name),
    db: Number(db ?? 0),
    role: 'master',
    sentinelCommandTimeout: sentinelTimeoutMs,
    sentinelRetryStrategy: () => sentinelTimeoutMs,
    ...credentials(username, password),
    ...(scheme === 'rediss' ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  };
}

function credentials(username: string, password: string): RedisOptions {
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  };
}

function hostAndPort(text: string): { readonly host: string; readonly port: number } {
  const [, host = text, port] = /^(.*?)(?::(\d+))?$/.exec(text.trim()) ?? [];
  return { host: host.replaceAll(/[[\]]/g, ''), port: Number(port ?? sentinelPort) };
}
