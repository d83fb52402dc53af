import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { cutNode, joinNodeAgain } from '#infra/cluster/levers.ts';
import { sandboxId, type SandboxId } from '#src/model/ids.ts';
import type { Template } from '#src/model/environment.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { type ClusterProvider, openClusterProvider } from '#test/support/cluster-provider.ts';
import { type RecordedEvents, recordEvents } from '#test/support/provider-events.ts';

const namespace = 'causes';
let cluster: Cluster;
let opened: ClusterProvider;
let events: RecordedEvents;
let named = 0;

beforeAll(async () => {
  cluster = await clusterOfTest();
  opened = await openClusterProvider(cluster, namespace, { imagePullPolicy: 'IfNotPresent' });
  events = recordEvents(opened.provider);
  await events.next('listed');
});
afterAll(async () => {
  await events.stop();
  await opened.close();
});

async function create(changes: Partial<Template> = {}): Promise<SandboxId> {
  named += 1;
  const sandbox = sandboxId(`causes-${named}`);
  const template = { ...opened.template, ...changes };
  await opened.provider.create({ sandbox, template, tokenSha256: 'a'.repeat(64) });
  return sandbox;
}

async function running(changes: Partial<Template> = {}): Promise<SandboxId> {
  const sandbox = await create(changes);
  await events.of(sandbox, 'running');
  return sandbox;
}

const of = (sandbox: SandboxId) =>
  events.all().filter((event) => 'sandbox' in event && event.sandbox === sandbox);
const nth = (sandbox: SandboxId, kind: string) => of(sandbox).find((event) => event.kind === kind);
const image = (reference: string) => ({ image: { kind: 'image', reference } }) as const;

test('a pod evicted through the API is told as evicted', async () => {
  const sandbox = await running();
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: sandbox, namespace } };
  const path = `/api/v1/namespaces/${namespace}/pods/${sandbox}/eviction`;
  await kubectl(cluster, ['create', '--raw', path, '-f', '-'], JSON.stringify(eviction));
  expect(await events.of(sandbox, 'gone')).toMatchObject({ cause: 'evicted' });
});

test('a pod that somebody deletes is doubted first and told as deleted', async () => {
  const sandbox = await running();
  await kubectl(cluster, ['delete', 'pod', sandbox, '-n', namespace, '--wait=false']);
  expect(await events.of(sandbox, 'gone')).toMatchObject({
    cause: 'deleted',
    evidence: { askedByUs: false },
  });
  expect(nth(sandbox, 'doubted')).toMatchObject({ cause: 'deleted' });
});

test('an image that no registry has is told in the cluster’s words, within the start timeout', async () => {
  const sandbox = await create({ ...image('corral.local/never:1'), startTimeoutMs: 20_000 });
  const told = await events.of(sandbox, 'cannot_start');
  expect(told).toMatchObject({
    code: 'image_unavailable',
    message: expect.stringContaining('never:1') as string,
  });
  await opened.provider.destroy(sandbox);
});

test('an image name that is none is told at once', async () => {
  const sandbox = await create(image('NO SUCH NAME'));
  expect(await events.of(sandbox, 'cannot_start')).toMatchObject({
    code: 'image_unavailable',
    evidence: { reason: 'InvalidImageName' },
  });
  await opened.provider.destroy(sandbox);
});

test('a pod for which no node has room is told as unschedulable, within its start timeout', async () => {
  const huge = 2 ** 50;
  const memory = { requestBytes: huge, limitBytes: huge };
  const sandbox = await create({ memory, startTimeoutMs: 5_000 });
  expect(await events.of(sandbox, 'cannot_start')).toMatchObject({
    code: 'unschedulable',
    message: expect.stringContaining('Insufficient memory') as string,
  });
  await opened.provider.destroy(sandbox);
});

test('a sandbox on a node that is cut off is doubted, and trusted when the node is back in time', async () => {
  const sandbox = await running();
  const node = await kubectl(cluster, [
    'get',
    'pod',
    sandbox,
    '-n',
    namespace,
    '-o',
    'jsonpath={.spec.nodeName}',
  ]);
  await cutNode(cluster, node);
  try {
    await expect.poll(() => nth(sandbox, 'doubted')).toMatchObject({ cause: 'node_lost' });
  } finally {
    await joinNodeAgain(cluster, node);
  }
  // The node is back before or after its pods are marked for deletion: either is told.
  await expect.poll(() => nth(sandbox, 'trusted') ?? nth(sandbox, 'gone')).toBeDefined();
  await opened.provider.destroy(sandbox);
});

test('no sandbox cost more than three writes, and nothing was listed but once at the beginning', () => {
  const writes = opened.measures.filter(
    ({ verb }) => verb === 'create' || verb === 'patch' || verb === 'delete',
  );
  expect(writes.length).toBeLessThanOrEqual(named * 3);
  const lists = opened.measures.filter(({ verb, resource }) => verb === 'list' && resource !== 'events');
  expect(lists.map(({ resource }) => resource).sort()).toEqual(['nodes', 'pods']);
});
