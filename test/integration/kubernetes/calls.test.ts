import { afterEach, beforeEach, expect, test } from 'vitest';
import { rolloutId, runId, sandboxId, tenantId } from '#src/model/ids.ts';
import { podFor } from '#src/adapters/kubernetes/pod/pod.ts';
import type { Owner } from '#src/model/rollout.ts';
import type { Asked } from './scripted-api.ts';
import { openProviderWorld, type ProviderWorld, request, settings } from './world.ts';

let world: ProviderWorld;
beforeEach(async () => {
  world = await openProviderWorld();
});
afterEach(() => world.close());

const sandbox = sandboxId('sandbox-1');
const posts = ({ method }: Asked) => method === 'POST';
const owner: Owner = {
  tenant: tenantId('tenant'),
  run: runId('run'),
  rollout: rolloutId('rollout'),
  attempt: 1,
  role: 'policy',
};

test('500 creates at once go over at most four connections, and the next 500 open none', async () => {
  const burst = (wave: number) =>
    Promise.all(
      Array.from({ length: 500 }, (_, index) =>
        world.provider.create(request(sandboxId(`wave-${wave}-${index}`))),
      ),
    );
  await burst(1);
  const opened = world.api.connections();
  expect(opened).toBeLessThanOrEqual(4);
  await burst(2);
  expect(world.api.connections()).toBe(opened);
  expect(await world.provider.list()).toHaveLength(1000);
});

test('a list of 1,200 pods is read in pages of 500', async () => {
  await Promise.all(
    Array.from({ length: 1200 }, (_, index) => world.provider.create(request(sandboxId(`sandbox-${index}`)))),
  );
  expect(new Set((await world.provider.list()).map((one) => one.sandbox)).size).toBe(1200);
  const lists = world.api.asked.filter(({ method }) => method === 'GET');
  expect(lists.map(({ query }) => [query.get('limit'), query.get('continue')])).toEqual([
    ['500', null],
    ['500', '500'],
    ['500', '1000'],
  ]);
});

test('a create whose answer was lost finds its own pod and makes no second one', async () => {
  await world.provider.create(request(sandbox));
  world.api.next(posts, 'reset');
  await world.provider.create(request(sandbox));
  expect(await world.provider.list()).toHaveLength(1);
});

test('a pod that must have ids of its own, and was made without them, is removed and fails its start', async () => {
  await world.close();
  world = await openProviderWorld({ hostUsers: 'require' });
  const { spec, metadata: asked = {}, ...rest } = podFor(request(sandbox), { ...settings, hostUsers: 'off' });
  const { name, labels, annotations } = asked;
  const metadata = { name, labels, annotations, uid: 'uid-1', creationTimestamp: '2026-01-01T00:00:00Z' };
  world.api.next(posts, { status: 201, body: { ...rest, metadata, spec } });
  await expect(world.provider.create(request(sandbox))).rejects.toMatchObject({
    code: 'start_failed',
    message: expect.stringContaining('dropped hostUsers') as string,
  });
  expect(world.api.asked.map(({ method }) => method)).toEqual(['POST', 'DELETE']);
});

test('a pod of the name that is not ours is not adopted', async () => {
  world.api.put({ metadata: { name: 'sandbox-1' } });
  await expect(world.provider.create(request(sandbox))).rejects.toMatchObject({ code: 'start_failed' });
});

test('a busy server is asked again after the time that it named, and others wait with it', async () => {
  world.api.next(posts, { status: 429, headers: { 'retry-after': '1' } });
  const beganMs = performance.now();
  await world.provider.create(request(sandbox));
  expect(performance.now() - beganMs).toBeGreaterThan(900);
  expect(world.measures.map(({ verb, resource, code }) => [verb, resource, code])).toEqual([
    ['create', 'pods', 429],
    ['create', 'pods', 201],
  ]);
});

test('a server that is busy for longer than a call may take is told as unavailable, with its time', async () => {
  world.api.next(posts, { status: 429, headers: { 'retry-after': '60' } });
  await expect(world.provider.create(request(sandbox))).rejects.toMatchObject({
    code: 'provider_unavailable',
    retryAfterMs: expect.closeTo(60_000, -3) as number,
  });
});

test('credentials that are refused are read again, once', async () => {
  world.api.next(posts, { status: 401 });
  await world.provider.create(request(sandbox));
  world.api.next(posts, { status: 401 });
  world.api.next(posts, { status: 401 });
  await expect(world.provider.create(request(sandboxId('sandbox-2')))).rejects.toMatchObject({
    code: 'provider_unavailable',
  });
});

test.each([
  ['a spent quota', 403, 'pods "x" is forbidden: exceeded quota: sandboxes', 'unschedulable'],
  ['a quota that nobody has counted', 403, 'forbidden: status unknown for quota: new', 'unschedulable'],
  ['a quota on what the pod does not name', 403, 'forbidden: failed quota: must specify', 'start_failed'],
  ['an invalid pod', 422, 'Pod "x" is invalid: spec.containers[0].image', 'start_failed'],
  ['a missing right', 403, 'User "corral" cannot create resource "pods"', 'provider_unavailable'],
  ['a missing namespace', 404, 'namespaces "sandboxes" not found', 'provider_unavailable'],
  ['a broken server', 500, 'etcdserver: request timed out', 'provider_unavailable'],
])("%s is told as %s's own words and not retried inside", async (_what, status, message, code) => {
  world.api.next(posts, { status, body: { reason: 'Some', message } });
  const refused = world.provider.create(request(sandbox));
  await expect(refused).rejects.toMatchObject({ code, evidence: { httpStatus: status, message } });
  expect(world.api.asked.filter(posts)).toHaveLength(1);
});

test('a server that is away is told as unavailable', async () => {
  await world.api.close();
  await expect(world.provider.list()).rejects.toMatchObject({ code: 'provider_unavailable' });
  world = await openProviderWorld();
});

test('an owner and an expiry are one patch of that very pod, and are found in the list', async () => {
  await world.provider.create(request(sandbox));
  await world.provider.label(sandbox, owner, 4_000_000_000_000);
  expect(await world.provider.list()).toMatchObject([{ owner, expiresAtMs: 4_000_000_000_000 }]);
  const writes = world.api.asked.filter(({ method }) => method !== 'GET');
  expect(writes.map(({ method }) => method)).toEqual(['POST', 'PATCH']);
});

test('what is on its way out is given no owner, and nothing is asked to find that out', async () => {
  await world.provider.create(request(sandbox));
  await world.provider.destroy(sandbox);
  await world.provider.label(sandbox, owner, 4_000_000_000_000);
  expect(world.api.asked.map(({ method }) => method)).toEqual(['POST', 'DELETE']);
});

test('removing what is not there, or is another pod now, is no error', async () => {
  await world.provider.destroy(sandbox);
  world.api.next(({ method }) => method === 'DELETE', { status: 409, body: { reason: 'Conflict' } });
  await world.provider.create(request(sandbox));
  await world.provider.destroy(sandbox);
});
