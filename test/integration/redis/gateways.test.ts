import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectFleetState, type FleetState } from '#src/adapters/redis/fleet-state.ts';
import { keysOf } from '#src/adapters/redis/keys.ts';
import { startRedis } from '#test/support/redis.ts';
import { claimOf, gradeAsk, held, keyOf, minute, ownerOf, recordOf, second, worldOfTests } from './world.ts';

const world = worldOfTests(6);

/** Each gateway has a connection of its own, as a process has; it dies when that ends. */
const connections = new Map<string, FleetState>();
beforeEach(() => connections.clear());
afterEach(() => Promise.all([...connections.values()].map((state) => state.close())));

async function process(name: string) {
  const state = await connectFleetState(world.options);
  connections.set(name, state);
  await state.gateways.appear(name);
  return state.gateways;
}

async function listening(name: string) {
  const gateways = await process(name);
  await gateways.keep(name);
  return gateways;
}

const channelOf = (name: string) => keysOf('test')('gateway', name);

/** As the kernel ends the connections of a process that is killed. */
async function die(name: string): Promise<void> {
  await connections.get(name)?.close();
  await expect.poll(() => world.redis.pubsub('NUMSUB', channelOf(name))).toEqual([channelOf(name), 0]);
}

const sandbox = (name: string) => world.active(name, { face: 'e2b' });
const verdictOf = async (name: string) => (await recordOf(world.fleet, keyOf(name))).discarded;
const recovering = { code: 'recovering' };

test('the first gateway of all is alone, and the next one joins it', async () => {
  const first = await process('a');
  expect(await first.begin('a', 0)).toMatchObject({ kind: 'alone' });
  expect(await first.sweep(null, world.nowMs())).toEqual({ cursor: null, lost: [] });
  await first.keep('a');
  expect(await (await process('b')).begin('b', 0)).toMatchObject({ kind: 'joined' });
});

test('after the only gateway has died the next one discards what E2B’s clients had opened before, and nothing else', async () => {
  await listening('a');
  await sandbox('before');
  await world.active('native', { face: 'native' });
  await die('a');
  await world.step(1);
  const next = await process('b');
  const unsure = await next.begin('b', 0);
  expect(unsure).toMatchObject({ kind: 'unsure' });
  await world.step(5 * second);
  const alone = await next.begin('b', 0);
  expect(alone).toMatchObject({ kind: 'alone', atMs: world.nowMs() });
  await world.step(1);
  await sandbox('after');
  const swept = await next.sweep(null, world.nowMs() - 1);
  expect(swept).toMatchObject({ cursor: null, lost: [{ key: keyOf('before') }] });
  expect(await verdictOf('before')).toMatchObject({
    code: 'sandbox_lost',
    cause: 'request_lost',
    evidence: { reason: 'no_gateway_listened' },
  });
  expect([await verdictOf('native'), await verdictOf('after')]).toEqual([null, null]);
});

test('while one of two gateways lives, what the dead one had in hand is discarded once, and only that', async () => {
  const [dying, living] = [await listening('a'), await listening('b')];
  await Promise.all(['in-hand', 'answered', 'elsewhere'].map(sandbox));
  await dying.enter('a', keyOf('in-hand'));
  await dying.enter('a', keyOf('answered'));
  await dying.leave('a', keyOf('answered'));
  await living.enter('b', keyOf('elsewhere'));
  await die('a');
  await expect(living.enter('b', keyOf('in-hand'))).rejects.toMatchObject(recovering);
  expect(await living.keep('b')).toMatchObject({ lost: [] });
  await world.step(5 * second);
  expect(await living.keep('b')).toMatchObject({ lost: [{ key: keyOf('in-hand') }] });
  expect(await living.keep('b')).toMatchObject({ lost: [] });
  expect(await verdictOf('in-hand')).toMatchObject({
    code: 'sandbox_lost',
    cause: 'request_lost',
    evidence: { reason: 'gateway_died', gateway: 'a' },
  });
  await living.enter('b', keyOf('in-hand'));
  expect([await verdictOf('answered'), await verdictOf('elsewhere')]).toEqual([null, null]);
  expect(await (await process('c')).begin('c', 0)).toMatchObject({ kind: 'joined' });
});

test('a sandbox of which a dead gateway had a request in hand is ended only after its discard', async () => {
  const [dying, living] = [await listening('a'), await listening('b')];
  await Promise.all(['in-hand', 'finished', 'elsewhere'].map(sandbox));
  await held(world.fleet, claimOf('unused', { face: 'e2b' }));
  for (const name of ['in-hand', 'finished', 'unused']) await dying.enter('a', keyOf(name));
  const { lifecycle } = world.fleet;
  await die('a');
  await expect(lifecycle.close(keyOf('in-hand'), 'deleted')).rejects.toMatchObject(recovering);
  await expect(lifecycle.close(keyOf('finished'), 'finished')).rejects.toMatchObject(recovering);
  for (const name of ['elsewhere', 'unused'])
    expect(await lifecycle.close(keyOf(name), 'deleted')).toMatchObject({ state: 'closed', discarded: null });
  await living.keep('b');
  await world.step(5 * second);
  await living.keep('b');
  for (const name of ['in-hand', 'finished'])
    expect(await lifecycle.close(keyOf(name), 'deleted')).toMatchObject({
      state: 'closed',
      discarded: { code: 'sandbox_lost', evidence: { reason: 'gateway_died' } },
    });
});

test('a sandbox of which another gateway has a request in hand is ended or graded after a word of that gateway, which may just have been killed', async () => {
  const [other] = [await listening('a'), await listening('b')];
  await Promise.all(['ended', 'graded'].map(sandbox));
  for (const name of ['ended', 'graded']) await other.enter('a', keyOf(name));
  const { lifecycle, grades } = world.fleet;
  const end = () => lifecycle.close(keyOf('ended'), 'deleted');
  const grade = () => grades.begin(keyOf('graded'), gradeAsk());
  for (const ask of [end, grade]) await expect(ask()).rejects.toMatchObject(recovering);
  await world.step(second);
  for (const ask of [end, grade]) await expect(ask()).rejects.toMatchObject(recovering);
  await other.keep('a');
  expect(await end()).toMatchObject({ state: 'closed', discarded: null });
  expect(await grade()).toMatchObject({ kind: 'run' });
});

test('a run that is closed while requests may be lost keeps their sandboxes until that is decided', async () => {
  const [dying, living] = [await listening('a'), await listening('b')];
  await Promise.all(['in-hand', 'elsewhere'].map(sandbox));
  await dying.enter('a', keyOf('in-hand'));
  await die('a');
  const { tenant, run } = ownerOf('in-hand');
  const closeRun = () => world.fleet.lifecycle.closeRun(tenant, run, 10);
  expect(await closeRun()).toBe(1);
  await expect(closeRun()).rejects.toMatchObject(recovering);
  await living.keep('b');
  await world.step(5 * second);
  await living.keep('b');
  expect(await closeRun()).toBe(0);
  expect(await verdictOf('in-hand')).toMatchObject({ cause: 'request_lost' });
  expect(await verdictOf('elsewhere')).toBeNull();
});

test('a sandbox with a score is ended although a request of it may be lost', async () => {
  const [dying] = [await listening('a'), await listening('b')];
  await sandbox('x');
  await world.fleet.grades.begin(keyOf('x'), gradeAsk());
  await world.fleet.grades.score(keyOf('x'), 1, 1, {});
  await dying.enter('a', keyOf('x'));
  await die('a');
  const closed = await world.fleet.lifecycle.close(keyOf('x'), 'deleted');
  expect(closed).toMatchObject({ state: 'closed', score: 1 });
});

test('a gateway that stands still for an hour discards nothing, nor does one that ends in order', async () => {
  const [still, leaving, other] = [await listening('a'), await listening('b'), await listening('c')];
  await Promise.all(['still', 'left'].map(sandbox));
  await still.enter('a', keyOf('still'));
  await leaving.enter('b', keyOf('left'));
  await leaving.end('b');
  await die('b');
  await world.step(60 * minute);
  expect(await other.keep('c')).toMatchObject({ lost: [] });
  await expect(other.enter('c', keyOf('still'))).rejects.toMatchObject(recovering);
  await still.enter('a', keyOf('still'));
  await still.keep('a');
  await other.enter('c', keyOf('still'));
  await other.enter('c', keyOf('left'));
  expect([await verdictOf('still'), await verdictOf('left')]).toEqual([null, null]);
});

test('a gateway that connects again within five seconds is not gone', async () => {
  const [, other] = [await listening('a'), await listening('b')];
  await sandbox('x');
  await connections.get('a')?.gateways.enter('a', keyOf('x'));
  await die('a');
  expect(await other.keep('b')).toMatchObject({ lost: [] });
  await world.step(4 * second);
  const again = await listening('a');
  await world.step(4 * second);
  expect(await other.keep('b')).toMatchObject({ lost: [] });
  await again.leave('a', keyOf('x'));
  await other.enter('b', keyOf('x'));
});

test('a gateway that stands still, or whose machine is lost, leaves the next one unsure until it speaks or its connection ends', async () => {
  const still = await listening('a');
  await world.step(5 * second);
  const next = await process('b');
  expect(await next.begin('b', 0)).toMatchObject({ kind: 'unsure' });
  await still.keep('a');
  expect(await next.begin('b', 0)).toMatchObject({ kind: 'joined' });
});

test('a gateway that leaves is no other that listens, and what it has in hand stays', async () => {
  const leaving = await listening('a');
  await sandbox('x');
  await leaving.enter('a', keyOf('x'));
  await leaving.keep('a', { leavingMs: 0 });
  await world.step(1);
  const next = await process('b');
  await world.step(5 * second);
  await leaving.keep('a', { leavingMs: 5 * second + 1 });
  expect(await next.begin('b', 5 * second)).toMatchObject({ kind: 'alone' });
  expect(await next.keep('b')).toMatchObject({ lost: [] });
  await next.enter('b', keyOf('x'));
});

test('a gateway that begins to leave after another has opened its port was there all the time, so nothing is discarded', async () => {
  const leaving = await listening('a');
  await sandbox('x');
  const next = await process('b');
  await world.step(5 * second);
  await leaving.keep('a', { leavingMs: 4 * second });
  expect(await next.begin('b', 5 * second)).toMatchObject({ kind: 'joined' });
});

test('a gateway that was alone waits for others to report before it discards anything', async () => {
  await sandbox('x');
  const next = await process('b');
  expect(await next.begin('b', 0)).toMatchObject({ kind: 'unsure' });
  await world.step(5 * second - 1);
  expect(await next.begin('b', 0)).toMatchObject({ kind: 'unsure' });
  await world.step(1);
  expect(await next.begin('b', 0)).toMatchObject({ kind: 'alone' });
});

test('a gateway whose subscription is missing subscribes again when it speaks', async () => {
  const state = await connectFleetState(world.options);
  connections.set('a', state);
  await state.gateways.keep('a');
  await expect.poll(() => world.redis.pubsub('NUMSUB', channelOf('a'))).toEqual([channelOf('a'), 1]);
});

test('a gateway whose Redis was replaced without an end of its subscription moves to the new one', async () => {
  const replacement = await startRedis();
  const redis = new Redis(replacement.socket);
  const folder = await mkdtemp(join(tmpdir(), 'corral-redis-'));
  const url = join(folder, 'redis.sock');
  await symlink(world.options.url, url);
  const state = await connectFleetState({ ...world.options, url });
  connections.set('a', state);
  await state.gateways.appear('a');
  await rm(url);
  await symlink(replacement.socket, url);
  await redis.set('test:clock', world.nowMs());
  // As after a switch: scripts go to the new Redis, and the old one keeps the connections of subscribers.
  await world.redis.call('CLIENT', 'KILL', 'TYPE', 'normal');
  const adopt = () => state.adoptRedis('empty').catch(() => null);
  await expect.poll(adopt, { timeout: 10_000 }).toMatch(/adopted|already/);
  const speak = async () => {
    await state.gateways.keep('a');
    return redis.pubsub('NUMSUB', channelOf('a'));
  };
  await expect.poll(speak, { timeout: 10_000 }).toEqual([channelOf('a'), 1]);
  redis.disconnect();
  await replacement.stop();
  await rm(folder, { recursive: true });
});

test('a gateway that speaks is not gone while its subscription is late', async () => {
  const other = await listening('b');
  await listening('a');
  await die('a');
  await other.keep('b');
  await world.step(4 * second);
  const speak = () => world.redis.hset(keysOf('test')('gatewayState', 'a'), 'heardMs', world.nowMs());
  await speak();
  await world.step(4 * second);
  await speak();
  expect(await other.keep('b')).toMatchObject({ lost: [] });
  expect(await world.redis.sismember(keysOf('test')('gateways'), 'a')).toBe(1);
});

test('a gateway that starts next to one that listens makes nothing wait', async () => {
  const living = await listening('a');
  await sandbox('x');
  await process('b');
  await living.enter('a', keyOf('x'));
});

test('a gateway whose connection breaks subscribes again by itself, and is there', async () => {
  await listening('a');
  await world.redis.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await expect.poll(() => world.redis.pubsub('NUMSUB', channelOf('a'))).toEqual([channelOf('a'), 1]);
});

test('a Redis that has forgotten its gateways does not take the next one for the only one', async () => {
  const living = await listening('a');
  await world.reset();
  const next = await process('b');
  const unsure = await next.begin('b', 0);
  expect(unsure).toMatchObject({ kind: 'unsure' });
  await world.supply(1);
  await sandbox('x');
  await expect(living.enter('a', keyOf('x'))).rejects.toMatchObject(recovering);
  expect(await living.keep('a')).toMatchObject({ isForgotten: true });
  expect(await living.keep('a', { inHand: [keyOf('x')] })).toMatchObject({ isForgotten: false });
  expect(await next.begin('b', 0)).toMatchObject({ kind: 'joined' });
  await die('a');
  await next.keep('b');
  await world.step(5 * second);
  expect(await next.keep('b')).toMatchObject({ lost: [{ key: keyOf('x') }] });
});

test('of two gateways that start together one decides, and requests and scores wait for it', async () => {
  await sandbox('x');
  const [one, other] = [await process('a'), await process('b')];
  await world.step(5 * second);
  expect(await other.begin('b', 0)).toMatchObject({ kind: 'unsure' });
  const alone = await one.begin('a', 0);
  expect(alone).toMatchObject({ kind: 'alone' });
  expect(await other.begin('b', 0)).toMatchObject({ kind: 'unsure' });
  await expect(other.enter('b', keyOf('x'))).rejects.toMatchObject(recovering);
  await expect(world.fleet.grades.begin(keyOf('x'), gradeAsk())).rejects.toMatchObject(recovering);
  await one.sweep(null, world.nowMs());
  await one.keep('a');
  expect(await other.begin('b', 0)).toMatchObject({ kind: 'joined' });
  await other.enter('b', keyOf('x'));
});

test('a request that was lost discards its rollout for its reason, with a mark where the policy may have done it', async () => {
  const gateways = await listening('a');
  await Promise.all(['x', 'y'].map(sandbox));
  expect(await gateways.lose(keyOf('x'), { reason: 'failed', suspected: 'command' })).toMatchObject({
    key: keyOf('x'),
    barred: 'sandbox_lost',
  });
  expect(await gateways.lose(keyOf('x'), { reason: 'client_left' })).toBeNull();
  await gateways.lose(keyOf('y'), { reason: 'client_left' });
  expect(await verdictOf('x')).toMatchObject({
    suspected: 'command',
    evidence: { reason: 'failed' },
  });
  expect(await verdictOf('y')).toMatchObject({ suspected: null, evidence: { reason: 'client_left' } });
});
