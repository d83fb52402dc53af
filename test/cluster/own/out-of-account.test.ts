import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Cluster, kubectl } from '#infra/cluster/api.ts';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildImage } from '#infra/images/build.ts';
import { imageNames } from '#infra/images/catalogue.ts';
import { copiedPayloadBytes } from '#src/adapters/kubernetes/pod/injection.ts';
import { anyPlace } from '#src/model/environment.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { type PodSandbox, startPodSandbox } from '#test/support/pod-sandbox.ts';

/* What a pod takes from its node outside of its own limits. */

const image = { kind: 'image', reference: imageNames.bare } as const;
const copied = { kind: 'init_container', image: imageNames.sandboxd } as const;
const isolations = [
  ['two ids', {}],
  ['one id', { uid: 'single' }],
  ['root', { runAs: 'root' }],
] as const;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await clusterOfTest();
  const archives = [await buildImage('bare'), await buildImage('sandboxd')].map(({ archive }) => archive);
  for (const node of cluster.nodes) await importImages(cluster, node, archives);
});

async function placeOf({ target }: PodSandbox) {
  const path = 'jsonpath={.metadata.uid} {.spec.nodeName}';
  const [uid = '', name = ''] = (
    await kubectl(cluster, ['get', 'pod', target.sandbox, '--output', path])
  ).split(' ');
  const node = cluster.nodes.find((each) => each.name === name);
  if (node === undefined) throw new Error(`there is no node ${name}`);
  return { uid, node };
}

/** The file that the kubelet made for its last words. */
async function lastWordsOf(sandbox: PodSandbox): Promise<string> {
  const { uid, node } = await placeOf(sandbox);
  const [file] = globSync(join(node.folder, 'kubelet/pods', uid, 'containers/sandbox/*'));
  if (file === undefined) throw new Error('the kubelet made no file');
  return file;
}

const placement = { ...anyPlace, nodeSelector: { 'kubernetes.io/hostname': 'n1' } };

const place = '/.corral/payload/closed/last-words';
const write = [
  `echo words > ${place}`,
  `chmod 777 /.corral/payload/closed; echo words > ${place}`,
  `mv /.corral/payload/closed /.corral/payload/open; rm -r /.corral/payload/closed`,
  `for pid in $(ls /proc | grep -E '^[0-9]+$'); do echo words > /proc/$pid/root${place}; done`,
  'echo words > /dev/termination-log',
].join('\n');

test.each(isolations)('with %s no command can write the file for last words', async (_, given) => {
  await using sandbox = await startPodSandbox(cluster, { image, ...given }, { sandboxd: copied });
  expect(await sandbox.sh(`grep -c ' ${place} ' /proc/self/mountinfo; ${write}`)).toMatch(/^1\n[^]*denied/);
  expect(statSync(await lastWordsOf(sandbox)).size).toBe(0);
});

const mebibyte = 1024 ** 2;

test('at its usual path a command of a sandbox with one id can, up to the largest file of a sandbox', async () => {
  await using sandbox = await startPodSandbox(cluster, { image, uid: 'single', diskBytes: 8 * mebibyte });
  await sandbox.sh('dd if=/dev/zero of=/dev/termination-log bs=1M count=80');
  expect(statSync(await lastWordsOf(sandbox)).size).toBe(64 * mebibyte);
});

/** Pages of files that are charged to the pod. */
async function chargedPages(sandbox: PodSandbox): Promise<number> {
  const { uid, node } = await placeOf(sandbox);
  const [file] = globSync(`/sys/fs/cgroup/{memory/,}${node.controlGroup}/kubepods/**/pod${uid}/memory.stat`);
  const [, bytes] = /^(?:total_cache|file) (\d+)$/m.exec(readFileSync(file ?? '', 'utf8')) ?? [];
  if (bytes === undefined) throw new Error(`the pod ${uid} has no account`);
  return Number(bytes);
}

test.each([
  ['copied', copied, 100 * mebibyte, copiedPayloadBytes],
  ['baked', { kind: 'baked' } as const, 0, 16 * mebibyte],
  ['an image volume', { kind: 'image_volume', image: imageNames.sandboxd } as const, 0, 16 * mebibyte],
])('the pages of a payload that is %s', async (_, sandboxd, leastBytes, mostBytes) => {
  // The first pod of a node is charged for the pages of an image, and those after it are not.
  const start = () => startPodSandbox(cluster, { image, placement }, { sandboxd });
  await using _first = await start();
  await using sandbox = await start();
  const bytes = await chargedPages(sandbox);
  expect(bytes).toBeGreaterThanOrEqual(leastBytes);
  expect(bytes).toBeLessThanOrEqual(mostBytes);
});
