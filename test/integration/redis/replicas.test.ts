import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '#cli/fleet/free-port.ts';
import { connectFleetState, type FleetState } from '#src/adapters/redis/fleet-state.ts';
import { replicaKeepsUp } from '#src/adapters/redis/replicas.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';
import { claimOf, keyOf } from './world.ts';

let primary: PrivateRedis;
let replica: PrivateRedis;
let fleet: FleetState;
let inPrimary: Redis;
let inReplica: Redis;
let troubles: string[];
beforeEach(async () => {
  const port = await freePort(0);
  primary = await startRedis({ flags: ['--port', String(port), '--repl-diskless-sync-delay', '0'] });
  replica = await startRedis({ flags: ['--replicaof', `127.0.0.1 ${port}`] });
  inReplica = new Redis(replica.socket);
  inPrimary = new Redis(primary.socket);
  const keepsUp = async () => replicaKeepsUp(await inPrimary.info('replication'));
  await expect.poll(keepsUp, { timeout: 25_000 }).toBe(true);
  // It is called online while it still reads what it was filled with.
  await inPrimary.set('filled', 'yes');
  expect(await inPrimary.wait(1, 25_000)).toBe(1);
  troubles = [];
  fleet = await connect(primary.socket);
  await fleet.adoptRedis('empty');
  await fleet.claims.claim(claimOf('a'));
});
afterEach(async () => {
  replica.thaw();
  for (const client of [inPrimary, inReplica]) client.disconnect();
  await fleet.close();
  await Promise.all([primary.stop(), replica.stop()]);
});

const connect = (url: string) =>
  connectFleetState({
    url,
    fleet: 'test',
    commandTimeoutMs: 1_000,
    onTrouble: ({ message }) => troubles.push(message),
  });
const discard = () => fleet.lifecycle.void(keyOf('a'), 'its task is broken');

test('a verdict is told when a replica has it', async () => {
  expect(await discard()).toMatchObject({ changed: true });
  expect(await inReplica.hget(`corral:{test}:rollout:${keyOf('a')}`, 'verdict')).toBe('discarded');
});

test('while the replica has not heard of it nobody is told, and calls that decide nothing go on', async () => {
  replica.freeze();
  await expect(discard()).rejects.toMatchObject({ code: 'state_unavailable' });
  const repeat = fleet.claims.claim(claimOf('a'));
  await expect(repeat).rejects.toMatchObject({ code: 'state_unavailable' });
  expect(await fleet.claims.claim(claimOf('b'))).toMatchObject({ kind: 'waiting' });
  replica.thaw();
  await expect.poll(() => fleet.claims.claim(claimOf('a')).catch(String)).toMatchObject({ code: 'voided' });
});

test('a user who may not WAIT is told once what that may cost, and goes on', async () => {
  await inPrimary.call('ACL', 'SETUSER', 'default', '-wait');
  expect(await discard()).toMatchObject({ changed: true });
  await fleet.lifecycle.void(keyOf('a'), 'again');
  expect(troubles).toEqual([expect.stringContaining('Redis refuses WAIT')]);
});
