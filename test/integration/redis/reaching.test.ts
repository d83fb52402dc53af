import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '#cli/fleet/free-port.ts';
import { createLaunchQueue } from '#src/adapters/bullmq/launch-queue.ts';
import { connectFleetState } from '#src/adapters/redis/fleet-state.ts';
import { noFiles, type RedisFiles } from '#src/adapters/redis-client/client.ts';
import { fakeLaunch } from '#test/fakes/launch-queue.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';

const run = promisify(execFile);
let folder: string;
const servers: PrivateRedis[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-reach-'));
});
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await rm(folder, { recursive: true });
});

async function redisWith(...flags: readonly string[]): Promise<PrivateRedis> {
  const server = await startRedis({ flags });
  servers.push(server);
  return server;
}

/** Fleet state and the launch queue work at this address. */
async function worksAt(url: string, files: RedisFiles = noFiles): Promise<void> {
  const state = await connectFleetState({
    url,
    files,
    fleet: 'test',
    commandTimeoutMs: 2_000,
    onTrouble: () => undefined,
  });
  const queue = createLaunchQueue({ redis: url, files, fleet: 'test', onError: () => undefined });
  try {
    await state.adoptRedis('empty');
    await state.ping();
    await queue.add([fakeLaunch()]);
    expect(await queue.counts()).toMatchObject({ wait: 1 });
  } finally {
    await queue.close();
    await state.close();
  }
}

/** An authority of our own and a certificate of it for this machine. */
async function certificates() {
  const [caKey, ca, key, request, certificate, names] = [
    'ca.key',
    'ca.crt',
    'redis.key',
    'redis.csr',
    'redis.crt',
    'names',
  ].map((name) => join(folder, name)) as [string, string, string, string, string, string];
  await writeFile(names, 'subjectAltName=IP:127.0.0.1');
  const ec = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  await run('openssl', [
    'req',
    '-x509',
    ...ec,
    '-keyout',
    caKey,
    '-out',
    ca,
    '-days',
    '1',
    '-subj',
    '/CN=ours',
  ]);
  await run('openssl', ['req', ...ec, '-keyout', key, '-out', request, '-subj', '/CN=redis']);
  const signed = [
    '-in',
    request,
    '-CA',
    ca,
    '-CAkey',
    caKey,
    '-CAcreateserial',
    '-days',
    '1',
    '-extfile',
    names,
  ];
  await run('openssl', ['x509', '-req', ...signed, '-out', certificate]);
  return { ca, key, certificate };
}

test('over TLS whose certificate an authority of our own has signed; without its file it is not believed', async () => {
  const { ca, key, certificate } = await certificates();
  const port = String(await freePort(0));
  const tls = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', ca];
  await redisWith('--tls-port', port, ...tls, '--tls-auth-clients', 'no');
  const url = `rediss://127.0.0.1:${port}`;
  await worksAt(url, { ...noFiles, ca });
  await expect(worksAt(url)).rejects.toMatchObject({
    code: 'state_unavailable',
    message: expect.stringContaining('certificate'),
  });
});

test('by way of sentinels over TLS, which have a password of their own', async () => {
  const { ca, key, certificate } = await certificates();
  const [port, watch] = await Promise.all([freePort(0), freePort(0)]);
  const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', ca];
  const tls = [...files, '--tls-auth-clients', 'no'];
  await redisWith('--tls-port', String(port), ...tls);
  const configuration = join(folder, 'sentinel.conf');
  const lines = [`sentinel monitor ours 127.0.0.1 ${port} 1`, 'requirepass theirs', 'tls-replication yes'];
  await writeFile(configuration, `${lines.join('\n')}\n`);
  const flags = ['--tls-port', String(watch), ...tls];
  servers.push(await startRedis({ sentinel: configuration, flags }));
  const sentinelPassword = join(folder, 'sentinel-password');
  await writeFile(sentinelPassword, 'theirs\n');
  await worksAt(`rediss-sentinel://127.0.0.1:${watch}/ours`, { ...noFiles, ca, sentinelPassword });
});

test('with a user and a password from files; with another password it is said that it is that', async () => {
  const { socket } = await redisWith();
  const admin = new Redis(socket);
  await admin.call('ACL', 'SETUSER', 'corral', 'on', '>two words', '~*', '&*', '+@all');
  await admin.call('ACL', 'SETUSER', 'default', 'off');
  admin.disconnect();
  const [username, password] = [join(folder, 'username'), join(folder, 'password')];
  await writeFile(username, 'corral\n');
  await writeFile(password, 'two words\n');
  await worksAt(socket, { ...noFiles, username, password });
  await writeFile(password, 'another\n');
  await expect(worksAt(socket, { ...noFiles, username, password })).rejects.toMatchObject({
    code: 'state_unavailable',
    message: expect.stringContaining('WRONGPASS'),
  });
});

test('by way of sentinels, of which one is enough; after a failover the successor is found', async () => {
  const [port, portAfter, watch] = await Promise.all([freePort(0), freePort(0), freePort(0)]);
  await redisWith('--port', String(port));
  const replica = await redisWith('--port', String(portAfter), '--replicaof', `127.0.0.1 ${port}`);
  const configuration = join(folder, 'sentinel.conf');
  await writeFile(
    configuration,
    `sentinel monitor ours 127.0.0.1 ${port} 1\nsentinel down-after-milliseconds ours 1000\n`,
  );
  const sentinel = await startRedis({ sentinel: configuration, flags: ['--port', String(watch)] });
  servers.push(sentinel);
  const nobody = await freePort(0);
  const url = `redis-sentinel://127.0.0.1:${nobody},127.0.0.1:${watch}/ours/0`;
  await worksAt(url);

  const state = await connectFleetState({
    url,
    fleet: 'test',
    commandTimeoutMs: 2_000,
    onTrouble: () => undefined,
  });
  const [asked, promoted] = [new Redis(sentinel.socket), new Redis(replica.socket)];
  await expect.poll(() => asked.call('SENTINEL', 'FAILOVER', 'ours').catch(String), settles).toBe('OK');
  await expect.poll(() => promoted.call('ROLE'), settles).toContain('master');
  asked.disconnect();
  promoted.disconnect();
  await expect.poll(() => state.adoptRedis('persisted').catch(String), settles).toBe('adopted');
  await state.close();
});

/** A sentinel looks around every ten seconds. */
const settles = { timeout: 25_000, interval: 200 };
