import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Diagnosis } from '#cli/doctor/finding.ts';
import { runCorral } from '#test/support/command-line.ts';
import { installChart, type Release } from '#test/support/release.ts';
import { neededValues, publishedChart, startRegistryForNodes } from '../support/cluster-registry.ts';
import type { Registry } from '../support/registries.ts';
import { release } from '../support/release.ts';

const fleet = 'corral';

let images: Registry;
let corral: Release;
let startedMs = 0;
beforeAll(async () => {
  images = await startRegistryForNodes();
  startedMs = performance.now();
  corral = await installChart(fleet, neededValues, publishedChart());
});
afterAll(async () => {
  await corral.remove();
  await images.stop();
});

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
  expect(await corral.kubectl(pods)).toContain(`${release().registry}/corral:${release().version}`);
  await corral.helm(['test', '--timeout=200s']);
});

test('corral doctor finds one mistake in it: the first key may play and also reads the truth', async () => {
  const place = ['--cluster', fleet, '--home', corral.namespace];
  const { printed } = await runCorral(['doctor', '--json', ...place]);
  const { findings } = JSON.parse(printed) as Diagnosis;
  const problems = findings.filter(({ state }) => state === 'problem').map(({ what }) => what);
  expect(problems).toEqual(['API key operator']);
});
