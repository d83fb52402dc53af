import { describe, expect, test } from 'vitest';
import { rolloutId, type SandboxId } from '#src/model/ids.ts';
import { rolloutKey } from '#src/model/rollout.ts';
import { answering } from '#test/fakes/sandbox-link.ts';
import { caller } from '#test/support/core-world.ts';
import { inRedis, keys, ownerOf, RecoveryWorld } from './world.ts';

const a = rolloutKey(ownerOf('a'));

test('what it kept goes on as it was: answers, scores, and who is in line', async () => {
  await using world = await RecoveryWorld.start();
  await world.ready();
  const first = await world.core.sh('a', 'c1', 'echo');
  await world.ready();
  await world.core.sh('b', 'c1', 'echo');
  await world.core.grade('b', 'yes', ['c1']);
  await world.promote(async () => undefined);
  await world.recover();
  expect(await world.core.sh('a', 'c1', 'echo')).toEqual({ ...first, replayed: true });
  expect(await world.core.grade('b', 'no', ['c1'])).toMatchObject({ score: 1, replayed: true });
  expect(world.link.ran).toEqual(['c1', 'c1']);
});

test('restarted with its append-only file it has kept everything, but what ended meanwhile is gone', async () => {
  await using world = await RecoveryWorld.start({}, { onDisk: true });
  await world.ready();
  const first = await world.core.sh('a', 'c1', 'echo');
  const lost = await world.ready();
  await world.core.sh('b', 'c1', 'echo');
  world.provider.end(lost, 'evicted');
  await world.forgetAll('persisted');
  await expect(world.core.state.pool.known()).rejects.toMatchObject({ code: 'recovering' });
  expect(await world.recover()).toEqual({ live: 1 });
  expect(await world.core.sh('a', 'c1', 'echo')).toEqual({ ...first, replayed: true });
  expect(await world.record('b')).toMatchObject({ discarded: { code: 'sandbox_lost', cause: 'deleted' } });
});

test('a call that it missed is not run again', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.core.sh('a', 'c2', 'echo');
  await world.settled(sandbox, 'c2');
  await world.promote(async (redis, key) => {
    await redis.hdel(key('calls', a), 'c2');
    await redis.hset(key('rollout', a), 'calls', 1);
  });
  await world.recover();
  expect(await world.core.sh('a', 'c2', 'echo')).toMatchObject({ output: 'echo', replayed: true });
  expect(world.link.ran).toEqual(['c1', 'c2']);
  expect((await world.record('a')).calls).toBe(2);
});

test('a claim that it missed: the sandbox leaves the pool and goes to who bound it', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.promote(async (redis, key) => {
    const { digest } = world.core.environment.template;
    await redis.del(key('rollout', a), key('calls', a), key('inFlight', a));
    await redis.hdel(key('sandbox', sandbox), 'owner');
    await redis.srem(key('held', digest), sandbox);
    await redis.zadd(key('ready', digest), 1, sandbox);
  });
  await world.recover();
  expect(await world.counts()).toMatchObject({ ready: 0, held: 1 });
  expect(await world.record('a')).toMatchObject({ state: 'active', epoch: { sandbox } });
});

test('a swap that it missed: the rollout is where something ran', async () => {
  await using world = await RecoveryWorld.start();
  const first = await world.ready();
  world.link.failNext('bind', { kind: 'refused', status: 500, code: 'internal', message: 'no' });
  const second = await world.ready();
  expect((await world.core.sh('a', 'c1', 'echo')).epoch?.sandbox).toBe(second);
  await world.promote(async (redis, key) => {
    await redis.hset(key('rollout', a), { state: 'claimed', sandbox: first, boot: 'boot-1', generation: 1 });
    await redis.hdel(key('rollout', a), 'dispatched', 'activeAtMs');
    await redis.hset(key('sandbox', first), { phase: 'ready', owner: a });
    await redis.hset(key('sandbox', second), { phase: 'ready' });
    await redis.hdel(key('sandbox', second), 'owner');
  });
  await world.recover();
  expect(await world.record('a')).toMatchObject({ state: 'active', epoch: { sandbox: second } });
  expect(await world.core.state.pool.draining(10)).toEqual([first]);
});

test('a dispatch that it missed, in a sandbox that does not answer: the rollout stays there, and its loss is one', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  world.silent.add(sandbox);
  await world.promote(async (redis, key) => {
    await redis.hset(key('rollout', a), { state: 'claimed' });
    await redis.hdel(key('rollout', a), 'dispatched', 'activeAtMs');
    await redis.del(key('calls', a));
  });
  await world.recover();
  const record = await world.record('a');
  const swapped = await world.core.state.claims.swap(record.key, record.generation, 'no answer', {});
  expect(swapped).toMatchObject({ rollout: { epoch: { sandbox } } });
  await world.core.state.lifecycle.lose(sandbox, null, 'evicted', {});
  expect(await world.record('a')).toMatchObject({ discarded: { code: 'sandbox_lost', cause: 'evicted' } });
});

/** A rollout of the native face with a file in its sandbox, and a second sandbox. */
async function twoSandboxes(world: RecoveryWorld) {
  const from = await world.ready();
  await world.core.open('a');
  await upload(world, 'first.txt', chunksOf('x'));
  return { from, to: await world.ready() };
}

/** What a promoted Redis has that missed the transfers of `a`, and recovered it in another sandbox. */
const movedTo = (world: RecoveryWorld, to: SandboxId) =>
  inRedis(world.core.redis.socket, async (redis) => {
    await redis.hset(keys('rollout', a), { state: 'claimed', sandbox: to, boot: 'boot-2', generation: 2 });
    await redis.hdel(keys('rollout', a), 'dispatched', 'activeAtMs');
    await redis.del(keys('calls', a), keys('inFlight', a), keys('callDeadlines'));
  });

const ref = { rollout: rolloutId('a'), attempt: null };
const trainer = { ...caller, face: 'native' } as const;

const upload = (world: RecoveryWorld, path: string, body: AsyncIterable<Uint8Array>) =>
  world.core.wired.core.putFile(trainer, ref, { path, user: 'policy', form: 'file' }, body);

const download = (world: RecoveryWorld, path: string) =>
  world.core.wired.core.getFile(trainer, ref, { path, user: 'policy', form: 'file', mostBytes: 1_000 });

async function* chunksOf(...texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text);
}

describe('a transfer whose dispatch it missed', () => {
  test('an upload into a sandbox that its rollout has lost since: it is not scored without the file', async () => {
    await using world = await RecoveryWorld.start();
    const { from, to } = await twoSandboxes(world);
    async function* body() {
      yield* chunksOf('one');
      await movedTo(world, to);
      yield* chunksOf('two');
    }
    await upload(world, 'answer.txt', body());
    expect(await world.record('a')).toMatchObject({
      discarded: { code: 'sandbox_lost', cause: 'pod_replaced', evidence: { ran_in: from, now_in: to } },
    });
  });

  test('a read there: nothing of it could be lost, and the rollout goes on', async () => {
    await using world = await RecoveryWorld.start();
    const { to } = await twoSandboxes(world);
    const bytes = await download(world, 'first.txt');
    await movedTo(world, to);
    expect(Buffer.concat(await Array.fromAsync(bytes)).toString()).toBe('x');
    expect(await world.record('a')).toMatchObject({ discarded: null, state: 'claimed' });
  });
});

async function promotedWithout(world: RecoveryWorld): Promise<SandboxId> {
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  await world.core.sh('a', 'c2', 'echo');
  world.silent.add(sandbox);
  await world.promote(async (redis, key) => {
    await redis.hdel(key('calls', a), 'c2');
    await redis.hset(key('rollout', a), 'calls', 1);
  });
  await world.recover();
  return sandbox;
}

const begin = (world: RecoveryWorld) =>
  world.core.state.grades.begin(a, { by: 'me', gradeMs: 60_000, inSandbox: false, seenIn: null });

describe('an answered call that it missed, in a sandbox that does not answer', () => {
  test('its rollout goes on, and its grade waits until the journal is read', async () => {
    await using world = await RecoveryWorld.start();
    await promotedWithout(world);
    expect(await world.core.sh('a', 'c3', 'echo')).toMatchObject({ output: 'echo' });
    await world.recheck();
    expect(await begin(world)).toEqual({ kind: 'wait', for: 'journal' });
    world.silent.clear();
    await world.recheck();
    expect((await world.record('a')).calls).toBe(3);
    expect(await world.core.grade('a', 'yes')).toMatchObject({ score: 1 });
    expect(world.link.ran).toEqual(['c1', 'c2', 'c3']);
  });

  test('if the provider reports it as gone, the rollout is lost and not scored', async () => {
    await using world = await RecoveryWorld.start();
    const sandbox = await promotedWithout(world);
    world.provider.end(sandbox, 'evicted');
    await world.recheck();
    expect(await begin(world)).toEqual({ kind: 'wait', for: 'journal' });
    await world.core.state.lifecycle.lose(sandbox, null, 'evicted', {});
    await expect(world.core.grade('a', 'yes')).rejects.toMatchObject({ code: 'sandbox_lost' });
  });

  test('if it answers that no rollout was ever bound to it, the grade no longer waits; another life says nothing', async () => {
    await using world = await RecoveryWorld.start();
    const sandbox = await promotedWithout(world);
    world.silent.clear();
    world.link.start(sandbox, 'boot-2');
    await world.recheck();
    expect(await begin(world)).toEqual({ kind: 'wait', for: 'journal' });
    world.link.start(sandbox, 'boot-1');
    await world.recheck();
    expect(await begin(world)).toMatchObject({ kind: 'run' });
  });
});

/** To the copy the sandbox is being started, and its rollout stands in line. */
async function granted(world: RecoveryWorld, isLabelled = false): Promise<SandboxId> {
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo one');
  if (isLabelled) await world.provider.label(sandbox, ownerOf('a'), 0);
  world.silent.add(sandbox);
  await world.promote(async (redis, key) => {
    const { digest } = world.core.environment.template;
    const forgotten = ['sandbox', 'boot', 'address', 'dispatched', 'claimedAtMs', 'activeAtMs'];
    await redis.hset(key('rollout', a), { state: 'waiting', generation: 0, calls: 0 });
    await redis.hdel(key('rollout', a), ...forgotten);
    await redis.del(key('calls', a));
    await redis.hdel(key('sandbox', sandbox), 'owner');
    await redis.hset(key('sandbox', sandbox), { phase: 'starting', ticket: 'ticket' });
    await redis.srem(key('held', digest), sandbox);
    await redis.sadd(key('starting', digest), sandbox);
    await redis.zadd(key('starts'), Date.now() + 60_000, sandbox);
  });
  expect(await world.recover()).toEqual({ unsure: 1 });
  await world.ready();
  return sandbox;
}

describe('a start and its grant that it missed, in a sandbox that does not answer', () => {
  test('the rollout is given no other while that is waited for, and goes on in it', async () => {
    await using world = await RecoveryWorld.start();
    const sandbox = await granted(world);
    const call = world.core.sh('a', 'c2', 'echo two');
    await expect.poll(() => world.counts()).toMatchObject({ ready: 1, held: 0, waiting: 1 });
    world.silent.clear();
    await world.recheck();
    expect(await call).toMatchObject({ output: 'echo two', epoch: { sandbox } });
  });

  test('labelled, it alone waits; and where the sandbox is gone, the rollout is lost and not opened again', async () => {
    await using world = await RecoveryWorld.start();
    const sandbox = await granted(world, true);
    expect(await world.core.sh('b', 'c1', 'echo')).toMatchObject({ output: 'echo' });
    world.core.waitMs = 300;
    await expect(world.core.sh('a', 'c2', 'echo')).rejects.toMatchObject({ code: 'recovering' });
    world.provider.end(sandbox, 'evicted');
    await world.recheck();
    await expect(world.core.sh('a', 'c2', 'echo')).rejects.toMatchObject({ code: 'sandbox_lost' });
    expect(await world.record('a')).toMatchObject({ discarded: { code: 'sandbox_lost' } });
  });

  test('nobody’s after all, it ends as a start does that never answers', async () => {
    await using world = await RecoveryWorld.start();
    const sandbox = await granted(world);
    await inRedis(world.core.redis.socket, (redis) => redis.zadd(keys('starts'), 1, sandbox));
    expect(await world.core.state.pool.overdueLaunches()).toEqual([sandbox]);
    expect(await world.core.state.pool.draining(10)).toEqual([sandbox]);
    expect(await world.core.sh('b', 'c1', 'echo')).toMatchObject({ output: 'echo' });
  });
});

test('a rollout whose sandbox is not in the list any more is lost, through the one door', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  await world.core.sh('a', 'c1', 'echo');
  const spare = await world.ready();
  world.provider.end(sandbox, 'deleted');
  world.provider.end(spare, 'deleted');
  await world.promote(async () => undefined);
  await world.recover();
  expect(await world.record('a')).toMatchObject({ discarded: { code: 'sandbox_lost' } });
  expect(await world.counts()).toMatchObject({ ready: 0, held: 0 });
});

test('a taint that it kept stays, although the sandbox still answers', async () => {
  await using world = await RecoveryWorld.start();
  const sandbox = await world.ready();
  world.core.backend.state = 'answered 503';
  world.link.behaviour = () => answering({ ending: { kind: 'exited', exitCode: 75 } });
  await world.core.call('a', 'c1', 'look_up', { command: 'x' }).catch(() => undefined);
  await world.promote(async () => undefined);
  await world.recover();
  expect(await world.record('a')).toMatchObject({ discarded: { code: 'dependency_failed' } });
  expect(await world.core.state.pool.draining(10)).toEqual([sandbox]);
});
