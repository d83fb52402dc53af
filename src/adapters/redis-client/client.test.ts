import { expect, test } from 'vitest';
import { endpointOf } from './client.ts';

test.each([
  { address: '/run/redis.sock', is: { path: '/run/redis.sock' } },
  { address: 'redis://redis', is: { host: 'redis', port: 6379, db: 0 } },
  {
    address: 'rediss://me:two%20words@[::1]:7000/3',
    is: { host: '::1', port: 7000, db: 3, username: 'me', password: 'two words', tls: {} },
  },
  {
    address: 'redis-sentinel://:secret@one:1,two,[::1]:3/ours/2',
    is: {
      sentinels: [
        { host: 'one', port: 1 },
        { host: 'two', port: 26_379 },
        { host: '::1', port: 3 },
      ],
      name: 'ours',
      db: 2,
      role: 'master',
      password: 'secret',
    },
  },
])('$address is where it says', ({ address, is }) => {
  expect(endpointOf(address)).toMatchObject(is);
});

test('sentinels over TLS are asked over it for a Redis over it', () => {
  const { tls, sentinelTLS, enableTLSForSentinelMode } = endpointOf('rediss-sentinel://one/ours');
  expect({ tls, sentinelTLS, enableTLSForSentinelMode }).toEqual({
    tls: {},
    sentinelTLS: {},
    enableTLSForSentinelMode: true,
  });
});
