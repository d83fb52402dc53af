import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { FleetState } from '#src/adapters/redis/fleet-state.ts';
import { itemKey, sandboxId, templateDigest } from '#src/model/ids.ts';
import { noTags, rolloutKey } from '#src/model/rollout.ts';
import { systemClock } from '#src/platform/clock.ts';
import type { ClaimRequest } from '#src/ports/fleet/claims.ts';
import { fakeEnvironment, fakeTemplate } from '#test/fakes/environment.ts';
import { fakeOwner } from '#test/fakes/rollout-record.ts';
import { type PrivateRedis, startRedis } from '#test/support/redis.ts';
import { createEngine, type Engine } from './engine.ts';
import { eventually, openController, openState } from './fleet.ts';

const digest = templateDigest('template-a');
const environment = fakeEnvironment({ pool: { minReady: 6, max: 20, maxAgeMs: 3_600_000 } });
const environments = [environment];
const settings = { newest: () => environments, poolOverrides: new Map(), startBudget: 4 };

const doomedWorker = join(import.meta.dirname, 'doomed-worker.ts');

let redis: PrivateRedis;
let state: FleetState;
let engine: Engine;
let running: { stop(): Promise<void> }[] = [];

beforeAll(async () => {
  redis = await startRedis();
});
beforeEach(async () => {
  await redis.restart('nothing');
  state = await openState(redis.socket);
  engine = createEngine();
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((one) => one.stop()));
  await state.close();
});
afterAll(() => redis.stop());

async function controller(given = settings) {
  const opened = await openController(redis.socket, engine, given);
  running.push(opened);
  return opened;
}

const claimOf = (rollout: string): ClaimRequest => ({
  owner: fakeOwner(rollout),
  face: 'rft',
  environment: environment.name,
  version: environment.version,
  template: digest,
  itemKey: itemKey('item-1'),
  itemDigest: null,
  tags: noTags,
  needs: null,
  item: null,
  idleMs: 900_000,
  hardLifeMs: 7_200_000,
});
const counts = async () => (await state.pool.counts([digest]))[0];
const ready = (number: number) =>
  eventually(`${number} sandboxes are ready`, async () => (await counts())?.ready === number);

test('a pool is filled to its size and not beyond', async () => {
  const { controller: one } = await controller();
  await ready(6);
  expect(engine.created).toHaveLength(6);
  expect(one.missing()).toEqual([]);
  const stopped = one.stop();
  expect(one.missing()).toEqual(['controller: it is stopping']);
  await stopped;
});

test('a controller that was ready stays ready while Redis answers nobody', async () => {
  const { controller: one, log } = await controller();
  await ready(6);
  redis.freeze();
  await eventually('it has seen that', () => log.lines.some(({ message }) => message === 'supply failed'));
  expect(one.missing()).toEqual([]);
  redis.thaw();
});

test('environments that are others now are supplied at once, and not at the next look at all plans', async () => {
  let now = environments;
  const { controller: one } = await controller({ ...settings, newest: () => now });
  await ready(6);
  const other = templateDigest('template-b');
  const pool = { ...environment.pool, minReady: 2 };
  now = [fakeEnvironment({ template: fakeTemplate({ digest: other }), pool })];
  one.environmentsChanged();
  const readyOfOther = async () => (await state.pool.counts([other]))[0]?.ready;
  await eventually('two of the other template are ready', async () => (await readyOfOther()) === 2, 5_000);
});

test('two controllers share the work and together create no sandbox too many', async () => {
  await Promise.all([controller(), controller()]);
  await ready(6);
  const rollouts = Array.from({ length: 20 }, (_, number) => claimOf(`rollout-${number}`));
  const claims = await Promise.all(rollouts.map((claim) => state.claims.claim(claim)));
  const waiting = claims.flatMap((claim) => (claim.kind === 'waiting' ? [claim.rollout.key] : []));
  expect(waiting).toHaveLength(14);
  await eventually(
    'all have a sandbox',
    async () => (await state.claims.renew(waiting)).size === waiting.length,
  );
  expect(engine.created).toHaveLength(20);
  expect(new Set(engine.created).size).toBe(20);
});

test('two controllers ask the provider once for each label and each removal, as one would', async () => {
  const asked: string[] = [];
  const { provider } = engine;
  engine = {
    ...engine,
    provider: {
      ...provider,
      label: async (sandbox, owner, expiresAtMs) => {
        asked.push(`label ${sandbox}`);
        await provider.label(sandbox, owner, expiresAtMs);
      },
      // As a cluster does: accepted at once, and over some time later.
      destroy: async (sandbox) => {
        asked.push(`destroy ${sandbox}`);
        void systemClock.sleep(1_500).then(() => provider.destroy(sandbox));
      },
    },
  };
  await Promise.all([controller(), controller()]);
  await eventually('the pool is full', () => engine.alive().length === 6);
  const traces = ['a', 'b', 'c', 'd', 'e', 'f'];
  await Promise.all(traces.map((trace) => state.claims.claim(claimOf(trace))));
  await eventually('each is labelled', () => engine.labels.size === traces.length);
  await Promise.all(traces.map((trace) => state.lifecycle.close(rolloutKey(fakeOwner(trace)), 'finished')));
  const held = [...engine.labels.keys()];
  await eventually('all are gone', () => held.every((sandbox) => !engine.alive().includes(sandbox)));
  expect(asked.toSorted()).toEqual(held.flatMap((one) => [`destroy ${one}`, `label ${one}`]).toSorted());
});

test('a controller that stops in the middle of its launches loses none: another goes on with the same sandboxes', async () => {
  const held = engine.hold();
  const first = await controller();
  await eventually('the start budget is used up', () => engine.created.length === settings.startBudget);
  const begun = [...engine.created];
  running = [];
  await first.stop();
  held.lift();
  await controller();
  await ready(6);
  expect(engine.created).toHaveLength(6);
  expect(engine.alive()).toEqual(expect.arrayContaining(begun));
});

test.each([
  ['in the middle of a launch loses nothing: its job and its sandbox go to another', []],
  ['before it added the job of a launch loses nothing: another adds it', ['no-job']],
])('a controller that is killed %s', async (_what, how) => {
  const one = { ...environment, pool: { ...environment.pool, minReady: 1, max: 1 } };
  const doomed = spawn(process.execPath, [doomedWorker, redis.socket, digest, ...how], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(doomed.stdout, 'data');
  doomed.kill('SIGKILL');
  await controller({ ...settings, newest: () => [one] });
  // Its lock must run out and the next look for such jobs come, or the next look for starts without a job.
  await eventually('the sandbox it had reserved is ready', async () => (await counts())?.ready === 1, 25_000);
  expect(engine.created).toEqual([sandboxId('doomed')]);
});

test('a sandbox that is killed leaves the pool and is replaced', async () => {
  await controller();
  await ready(6);
  const [victim] = engine.created;
  if (victim === undefined) throw new Error('no sandbox was created');
  engine.kill(victim, 'evicted');
  await eventually('it is forgotten', async () => !(await state.pool.known()).has(victim));
  await ready(6);
  expect(engine.created).toHaveLength(7);
});

test('the sandbox of a killed claim is swapped, and that of a finished rollout is destroyed', async () => {
  await controller();
  await ready(6);
  const claim = await state.claims.claim(claimOf('rollout-1'));
  const before = claim.rollout?.epoch?.sandbox;
  if (claim.kind !== 'held' || before === undefined) throw new Error('the claim was not granted');
  engine.kill(before, 'preempted');
  await eventually('it has another', async () => {
    const after = await state.claims.find(fakeOwner('rollout-1'), 1);
    return after?.epoch !== null && after?.epoch.sandbox !== before;
  });
  const after = await state.claims.find(fakeOwner('rollout-1'), 1);
  const second = after?.epoch?.sandbox;
  if (second === undefined) throw new Error('the rollout has no sandbox');
  await state.lifecycle.close(claim.rollout.key, 'finished');
  await eventually('it is destroyed', () => !engine.alive().includes(second));
  await eventually('it is forgotten', async () => !(await state.pool.known()).has(second));
});

test("a claimed sandbox carries its owner in the provider's labels within seconds", async () => {
  await controller();
  await ready(6);
  const claim = await state.claims.claim(claimOf('rollout-1'));
  const sandbox = claim.rollout?.epoch?.sandbox;
  if (sandbox === undefined) throw new Error('the claim was not granted');
  await eventually('it is labelled', () => engine.labels.has(sandbox));
  expect(engine.labels.get(sandbox)).toEqual(fakeOwner('rollout-1'));
});

test('a sandbox that fleet state does not know is not destroyed while it may still be a launch', async () => {
  const stranger = sandboxId('stranger');
  engine.plant(stranger, digest, null);
  await controller();
  await ready(6);
  expect(engine.alive()).toContain(stranger);
});
