import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { importImages } from '#infra/cluster/images/import.ts';
import { busyboxRoot } from '#infra/images/contents/busybox.ts';
import { layer } from '#infra/images/contents/tree.ts';
import { writeArchive } from '#infra/images/oci/archive.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { type NodeVolume, offerVolume } from '#test/support/node-volume.ts';
import { countingEnvironment, installRelease, type Release } from '#test/support/release.ts';

const environment = 'shipped';
const image = { registry: 'corral.local', repository: 'environments', tag: 'dev' };
const claim = 'mounted-events';

/** What a team builds of its environments: their folder, and a `cp`. */
async function giveImage(): Promise<void> {
  const text = JSON.stringify({ ...countingEnvironment, name: environment });
  const files = layer([{ kind: 'text', path: `environments/${environment}.yaml`, mode: 0o644, text }]);
  const folder = await mkdtemp(join(tmpdir(), 'corral-environments-'));
  const archive = join(folder, 'image.tar');
  const name = `${image.registry}/${image.repository}:${image.tag}`;
  const config = { Env: ['PATH=/bin'] };
  await writeArchive({ name, layers: [layer(await busyboxRoot()), files], config }, archive);
  const cluster = await clusterOfTest();
  await Promise.all(cluster.nodes.map((node) => importImages(cluster, node, [archive])));
  await rm(folder, { recursive: true });
}

const claimOf = (storageClassName: string) => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { name: claim, labels: { 'corral.dev/fleet': 'mounted' } },
  spec: { storageClassName, accessModes: ['ReadWriteMany'], resources: { requests: { storage: '1Gi' } } },
});

let volume: NodeVolume;
let corral: Release;
beforeAll(async () => {
  await giveImage();
  volume = await offerVolume(await clusterOfTest(), 'n1', 'events');
  corral = await installRelease('mounted', {
    environments: { inline: null, image },
    eventLog: { existingClaim: claim },
    extraObjects: [claimOf(volume.storageClass)],
  });
});
afterAll(async () => {
  await corral.remove();
  await volume.remove();
});

const gateways = async () => {
  const selector = '--selector=app.kubernetes.io/component=gateway';
  const names = '--output=jsonpath={.items[*].metadata.name}';
  return (await corral.kubectl(['get', 'pods', selector, names])).split(' ');
};

/** All that gateways of these names have written into the volume. */
async function eventsOf(pods: readonly string[]): Promise<string> {
  const texts = pods.map(async (pod) => {
    const folder = join(volume.folder, pod);
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    const paths = files.filter((file) => file.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    return (await Promise.all(paths.map((path) => readFile(path, 'utf8')))).join('');
  });
  return (await Promise.all(texts)).join('');
}

test('environments come out of an image, and events stay on a claim, each pod’s in its own folder, when their pods are gone', async () => {
  const before = await gateways();
  expect(
    await corral.rft.call({ trace: 'first', call: 'c1', command: 'echo ran >> log', environment }),
  ).toMatchObject({ status: 200 });
  expect(await corral.rft.grade({ trace: 'first', environment })).toMatchObject({ body: { score: 1 } });
  expect((await readdir(volume.folder)).toSorted()).toEqual(expect.arrayContaining(before.toSorted()));

  await corral.kubectl(['delete', 'pods', ...before, '--wait=true', '--timeout=55s']);
  expect((await gateways()).filter((pod) => before.includes(pod))).toEqual([]);
  expect(await eventsOf(before)).toMatch(/echo ran >> log/);
  expect(await eventsOf(before)).toMatch(/"scorable"/);
});
