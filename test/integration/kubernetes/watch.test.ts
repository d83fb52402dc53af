import { afterEach, beforeEach, expect, test } from 'vitest';
import { sandboxId, type SandboxId } from '#src/model/ids.ts';
import { type RecordedEvents, recordEvents } from '#test/support/provider-events.ts';
import { openProviderWorld, type ProviderWorld, request } from './world.ts';

let world: ProviderWorld;
let events: RecordedEvents;
beforeEach(async () => {
  world = await openProviderWorld();
  events = recordEvents(world.provider);
  await events.next('listed');
  await expect.poll(() => world.api.watches()).toBe(1);
});
afterEach(async () => {
  await events.stop();
  await world.close();
});

const sandbox = sandboxId('sandbox-1');
const address = 'http://10.0.0.7:8911';

/** Gives the pod this status, as its kubelet would. */
function become(name: SandboxId, status: object, spec: object = { nodeName: 'node-1' }): void {
  const pod = world.api.pod(name);
  if (pod === undefined) throw new Error(`no pod ${name}`);
  world.api.put({ ...pod, spec, status });
}

const running = {
  phase: 'Running',
  podIP: '10.0.0.7',
  containerStatuses: [{ name: 'sandbox', state: { running: { startedAt: '2026-01-01T00:00:01Z' } } }],
};
const killed = {
  phase: 'Failed',
  containerStatuses: [{ name: 'sandbox', state: { terminated: { exitCode: 137, reason: 'Error' } } }],
};
const readiness = (status: string) => ({
  metadata: { name: 'node-1' },
  status: { conditions: [{ type: 'Ready', status, reason: 'NodeStatusUnknown', message: 'silent' }] },
});

const kinds = () => events.all().map(({ kind }) => kind);
const lists = () =>
  world.api.asked.filter(({ path, query }) => path.endsWith('/pods') && query.get('limit') !== null).length;
const versions = () =>
  world.api.asked
    .filter(({ path, query }) => path.endsWith('/pods') && query.get('watch') === 'true')
    .map(({ query }) => Number(query.get('resourceVersion')));

async function start(name = sandbox): Promise<void> {
  await world.provider.create(request(name));
  become(name, running);
  await events.of(name, 'running');
}

test('a pod whose container runs is told with its address, and its end with cause and evidence', async () => {
  await start();
  expect(await events.of(sandbox, 'running')).toMatchObject({ address });
  become(sandbox, killed);
  const gone = await events.of(sandbox, 'gone');
  expect(gone).toMatchObject({ cause: 'sandboxd_killed', evidence: { exitCode: 137, signal: 'SIGKILL' } });
});

test('a watch that is cut goes on where it was: nothing is listed again, missed or told twice', async () => {
  await start();
  world.api.cutWatches();
  become(sandbox, killed);
  await events.of(sandbox, 'gone');
  expect(lists()).toBe(1);
  expect(kinds()).toEqual(['listed', 'running', 'gone']);
});

test('a bookmark moves on where a quiet watch resumes', async () => {
  world.api.bookmark();
  await expect.poll(() => world.api.watches()).toBe(1);
  const before = versions().at(-1) ?? 0;
  world.api.cutWatches();
  await expect.poll(() => versions().length).toBeGreaterThan(1);
  expect(versions().at(-1)).toBe(before + 1);
});

test('when history is gone everything is listed again, and what ended meanwhile is told first', async () => {
  await start();
  await start(sandboxId('sandbox-2'));
  world.api.cutWatches();
  world.api.remove('sandbox-2');
  world.api.compact();
  await expect.poll(() => kinds().slice(-2)).toEqual(['gone', 'listed']);
  expect(lists()).toBe(2);
});

test('an error in the stream, and a line that is none, end it and it begins again', async () => {
  world.api.say(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 500 } })}\n`);
  await expect.poll(() => versions().length).toBe(2);
  await expect.poll(() => world.api.watches()).toBe(1);
  world.api.say('nonsense\n');
  await expect.poll(() => versions().length).toBe(3);
  await start();
  expect(lists()).toBe(1);
});

test('a line in pieces is one line', async () => {
  await world.provider.create(request(sandbox));
  const pod = world.api.pod(sandbox);
  const line = JSON.stringify({ type: 'MODIFIED', object: { ...pod, status: running } });
  world.api.say(line.slice(0, 100));
  world.api.say(`${line.slice(100)}\n`);
  expect(await events.of(sandbox, 'running')).toMatchObject({ address });
});

test('while a watch is in step the list costs no call, and it has what was just created', async () => {
  await start();
  const before = lists();
  await world.provider.create(request(sandboxId('sandbox-2')));
  const listed = await world.provider.list();
  expect(listed.map((one) => one.sandbox).sort()).toEqual(['sandbox-1', 'sandbox-2']);
  expect(lists()).toBe(before);
});

test('a pod that we removed is deleted, one that somebody else removed too, and what says why keeps its cause', async () => {
  for (const name of ['ours', 'theirs', 'evicted'].map(sandboxId)) await start(name);
  await world.provider.destroy(sandboxId('ours'));
  world.api.remove('theirs');
  const target = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' };
  become(sandboxId('evicted'), { ...running, conditions: [target] });
  world.api.remove('evicted');
  expect(await events.of(sandboxId('ours'), 'gone')).toMatchObject({
    cause: 'deleted',
    evidence: { askedByUs: true },
  });
  expect(await events.of(sandboxId('theirs'), 'gone')).toMatchObject({ cause: 'deleted' });
  expect(await events.of(sandboxId('evicted'), 'gone')).toMatchObject({ cause: 'evicted' });
});

test('a pod that ended by itself is no longer listed, and its object is removed once it was told', async () => {
  await start();
  become(sandbox, killed);
  await events.of(sandbox, 'gone');
  expect(await world.provider.list()).toEqual([]);
  await expect.poll(() => world.api.pod(sandbox)).toBeUndefined();
  expect(kinds()).toEqual(['listed', 'running', 'gone']);
});

test('another pod of the same name is another sandbox: the first is lost as replaced', async () => {
  await start();
  const pod = world.api.pod(sandbox);
  world.api.put({ ...pod, metadata: { ...pod?.metadata, name: sandbox, uid: 'another' } });
  expect(await events.of(sandbox, 'gone')).toMatchObject({ cause: 'pod_replaced' });
});

test('a running sandbox is doubted while its node is silent, and trusted again when it speaks', async () => {
  world.api.putNode(readiness('True'));
  await start();
  world.api.putNode(readiness('Unknown'));
  expect(await events.next('doubted')).toMatchObject({ sandbox, address, cause: 'node_lost' });
  world.api.putNode(readiness('True'));
  expect(await events.next('trusted')).toMatchObject({ sandbox });
});

test('an image that cannot be had is told with the registry’s words, before the start timeout', async () => {
  await world.provider.create(request(sandbox));
  const waiting = { reason: 'ErrImageNeverPull', message: 'Container image is not present' };
  become(sandbox, { phase: 'Pending', containerStatuses: [{ name: 'sandbox', state: { waiting } }] });
  expect(await events.next('cannot_start')).toMatchObject({
    sandbox,
    code: 'image_unavailable',
    message: 'ErrImageNeverPull: Container image is not present',
  });
});

test('pods and nodes are watched over no more than four connections', async () => {
  await Promise.all(
    Array.from({ length: 100 }, (_, index) => world.provider.create(request(sandboxId(`s-${index}`)))),
  );
  expect(world.api.connections()).toBeLessThanOrEqual(4);
});
