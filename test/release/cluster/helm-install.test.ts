import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Diagnosis } from '#cli/doctor/finding.ts';
import { importImages } from '#infra/cluster/images/import.ts';
import { buildImage } from '#infra/images/build.ts';
import { clusterOfTest } from '#test/support/cluster.ts';
import { runCorral } from '#test/support/command-line.ts';
import { installRelease, type Release } from '#test/support/release.ts';
import { type Registry, startImageRegistry } from '../support/registries.ts';
import { release } from '../support/release.ts';

/** The hub, in which this test runs. Nodes reach nothing else. */
const listen = '10.250.0.1:5055';
const registry = `${listen}/team`;
const fleet = 'corral';

let images: Registry;
let corral: Release;
let startedMs = 0;
beforeAll(async () => {
  const { storage, version } = release();
  images = await startImageRegistry(storage, listen);
  const cluster = await clusterOfTest();
  const redis = await buildImage('redis');
  for (const node of cluster.nodes) {
    await allowHttp(node.folder);
    await importImages(cluster, node, [redis.archive]);
  }
  startedMs = performance.now();
  const chart = [`oci://${registry}/charts/corral`, `--version=${version}`, '--plain-http'];
  corral = await installRelease(fleet, values, chart);
});
afterAll(async () => {
  await corral.remove();
  await images.stop();
});

/** containerd uses HTTPS, unless a file for the registry's host says otherwise. It reads this file at each pull. */
async function allowHttp(nodeFolder: string): Promise<void> {
  const folder = join(nodeFolder, 'registries', listen);
  await mkdir(folder, { recursive: true });
  const host = `server = "http://${listen}"\n[host."http://${listen}"]\n  capabilities = ["pull", "resolve"]\n`;
  await writeFile(join(folder, 'hosts.toml'), host);
}

/** The chart's own, except for what this cluster does not have: storage, a load balancer, and other registries. */
const values = {
  global: { imageRegistry: registry },
  image: null,
  sandboxd: null,
  clusterConfig: null,
  environments: {
    inline: {
      counting: null,
      shell: {
        sandbox: { image: 'corral.local/busybox:1', memory: '64Mi', disk: '64Mi' },
        tools: { shell: { builtin: 'shell' } },
        grader: { kind: 'text', reference: 'item.answer' },
        pool: { min_ready: 1, max: 4 },
      },
    },
  },
};

/** As a training platform sends it. */
async function post(
  path: string,
  body: object,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const headers = {
    authorization: `Bearer ${corral.apiKey}`,
    'content-type': 'application/json',
    'x-corral-run': 'run-42',
  };
  const answer = await fetch(`${corral.gatewayUrl}/rft/shell/${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: await answer.json() };
}

test('helm install from a registry: the first graded rollout comes within two minutes', async () => {
  const rollout = { item: { id: 'task-1', answer: '42' }, trace_id: 'trace_1' };
  const call = { id: 'fc_1', call_id: 'c1', name: 'shell', arguments: '{"command":"echo 42"}' };
  expect(await post('tools/shell', { ...rollout, ...call })).toMatchObject({
    status: 200,
    body: { output: '42\n' },
  });
  const sample = { output_text: '42', output_tools: [{ id: 'c1' }] };
  expect(await post('grade', { ...rollout, sample })).toMatchObject({ status: 200, body: { score: 1 } });
  const tookS = (performance.now() - startedMs) / 1000;
  process.stdout.write(`helm install: first graded rollout after ${tookS.toFixed(1)} s\n`);
  expect(tookS).toBeLessThan(120);
});

test('its pods run the published images, and helm test finds all in order', async () => {
  const pods = [
    'get',
    'pods',
    '--selector=app.kubernetes.io/part-of=corral',
    '--output=jsonpath={.items[*].spec.containers[*].image}',
  ];
  expect(await corral.kubectl(pods)).toContain(`${registry}/corral:${release().version}`);
  await corral.helm(['test', '--timeout=200s']);
});

test('corral doctor finds one mistake in it: the first key may play and also reads the truth', async () => {
  const place = ['--cluster', fleet, '--home', corral.namespace];
  const { printed } = await runCorral(['doctor', '--json', ...place]);
  const { findings } = JSON.parse(printed) as Diagnosis;
  const problems = findings.filter(({ state }) => state === 'problem').map(({ what }) => what);
  expect(problems).toEqual(['API key operator']);
});
