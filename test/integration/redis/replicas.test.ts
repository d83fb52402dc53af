import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { freePort } from '#cli/fleet/free-port.ts';
import { connectFleetState, type FleetState } from '#src/adapters/redis/fleet-state.ts';
import { hasLiveReplica } from '#src/adapters/redis/replicas.ts';
import { runId } from '#src/model/ids.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';
import { claimOf, keyOf, tenant } from './world.ts';

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
  const keepsUp = async () => hasLiveReplica(await inPrimary.info('replication'));
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

test('a verdict is returned when a replica has it', async () => {
  expect(await discard()).toMatchObject({ changed: true });
  expect(await inReplica.hget(`corral:{test}:rollout:${keyOf('a')}`, 'verdict')).toBe('discarded');
});

test('with a frozen replica no verdict is returned, other claims are answered, and afterwards the verdict still counts as new', async () => {
  replica.freeze();
  const told: string[] = [];
  const note = (what: string) => () => void told.push(what);
  const discarded = discard();
  void discarded.then(note('the discard'));
  await expect.poll(() => inPrimary.hget(`corral:{test}:rollout:${keyOf('a')}`, 'verdict')).toBe('discarded');
  const [again, other] = [fleet.claims.claim(claimOf('a')), fleet.claims.claim(claimOf('b'))];
  void again.then(note('a claim of it'));
  expect(await other).toMatchObject({ kind: 'waiting' });
  const report = fleet.reports.run(tenant, runId('run-1'));
  void report.then(note('the sums of its run'));
  // As long as three times WAIT waits.
  await sleep(1_500);
  expect(told).toEqual([]);
  replica.thaw();
  expect(await discarded).toMatchObject({ changed: true });
  expect(await again).toMatchObject({ code: 'voided' });
  await report;
});

test('a frozen replica is ignored after ten seconds', { timeout: 30_000 }, async () => {
  replica.freeze();
  expect(await discard()).toMatchObject({ changed: true });
  expect(troubles).toEqual([]);
});

test('a demoted Redis returns no verdict, and is not taken for one without WAIT', async () => {
  replica.freeze();
  const discarded = discard().catch(({ code }: { code: unknown }) => code);
  await expect.poll(() => inPrimary.hget(`corral:{test}:rollout:${keyOf('a')}`, 'verdict')).toBe('discarded');
  await inPrimary.replicaof('127.0.0.1', 1);
  expect(await discarded).toBe('state_unavailable');
  expect(troubles.filter((text) => text.includes('WAIT'))).toEqual([]);
});

test('where Redis refuses WAIT there is one warning, and verdicts are returned at once', async () => {
  await inPrimary.call('ACL', 'SETUSER', 'default', '-wait');
  expect(await discard()).toMatchObject({ changed: true });
  await fleet.lifecycle.void(keyOf('a'), 'again');
  expect(troubles).toEqual([expect.stringContaining('Redis refuses WAIT')]);
});
