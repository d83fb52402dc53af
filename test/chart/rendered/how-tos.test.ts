import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { parseAllDocuments } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chartFolder, helm, oneOf, type Rendered } from '#test/support/helm.ts';

/* The values that the how-tos show are rendered as they are shown, on top of an image's tag and nothing else. */

const docs = join(import.meta.dirname, '../../../docs');
const read = (page: string) => readFileSync(join(docs, page), 'utf8');
const blocksOf = (page: string): readonly string[] =>
  [...read(page).matchAll(/^```yaml\n([^]*?)^```$/gm)].map((match) => match[1] ?? '');

const images = 'global: { imageRegistry: registry.example.com/team }\n';
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'corral-how-tos-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function renderValues(values: string, release = 'lab'): Promise<readonly Rendered[]> {
  const [first, second] = [join(folder, 'images.yaml'), join(folder, 'values.yaml')];
  await Promise.all([writeFile(first, images), writeFile(second, values)]);
  const files = ['--values', first, '--values', second];
  const text = await helm(['template', release, chartFolder, '--namespace', 'corral', ...files]);
  return parseAllDocuments(text).map((document) => document.toJS() as Rendered);
}

const isManifest = (block: string) => /^kind: /m.test(block) && /^apiVersion: /m.test(block);
const pages = [
  'cert-manager.md',
  'gitops.md',
  'managed-redis.md',
  'private-registry.md',
  'restricted-namespaces.md',
  'sizing.md',
];
const shown = pages.flatMap((page) =>
  blocksOf(page)
    .filter((block) => !isManifest(block))
    .map((block, index) => ({ page, index, block })),
);

test.each(shown)('values $index of $page are rendered', async ({ block }) => {
  const objects = await renderValues(block);
  expect(objects.filter(({ kind }) => kind === 'Deployment')).toHaveLength(2);
});

test('an Ingress keeps the annotations of the chart next to those of cert-manager', async () => {
  const [values = ''] = blocksOf('cert-manager.md');
  const { metadata } = oneOf(await renderValues(values), 'Ingress', 'lab-gateway');
  expect(metadata.annotations).toMatchObject({
    'cert-manager.io/cluster-issuer': 'letsencrypt',
    'nginx.ingress.kubernetes.io/proxy-read-timeout': '660',
  });
});

const Sizes = Type.Object({
  gateway: Type.Object({ replicas: Type.Number() }),
  controller: Type.Object({
    replicas: Type.Number(),
    poolOverrides: Type.Object({ shell: Type.Object({ max: Type.Number() }) }),
  }),
  eventLog: Type.Optional(Type.Object({ maxBytes: Type.Number(), sizeLimit: Type.String() })),
});
const sizes = [
  ['64', 0],
  ['500', 1],
  ['2,000', 2],
] as const;

describe.each(sizes)('a fleet for %s rollouts', (rollouts, index) => {
  const { gateway, controller, eventLog } = Value.Parse(
    Sizes,
    parseAllDocuments(blocksOf('sizing.md')[index] ?? '')[0]?.toJS(),
  );

  test('has nodes for its pool and its own pods, ten places of each left for DaemonSets', () => {
    const row =
      read('sizing.md')
        .split('\n')
        .find((line) => line.startsWith(`| ${rollouts} |`)) ?? '';
    const [gateways, controllers, , nodes] = row.split('|').slice(2).map(Number);
    expect([gateways, controllers]).toEqual([gateway.replicas, controller.replicas]);
    const pods = controller.poolOverrides.shell.max + gateway.replicas + controller.replicas;
    expect(Number(nodes) * 100).toBeGreaterThanOrEqual(pods);
  });

  test('keeps a day of graded calls, and its volume holds two full logs', () => {
    const { maxBytes = 4 * 2 ** 30, sizeLimit = '10Gi' } = eventLog ?? {};
    const callsPerSecond = (Number(rollouts.replace(',', '')) * 40) / 180 / gateway.replicas;
    expect(maxBytes / (callsPerSecond * 3_300)).toBeGreaterThan(86_400);
    expect(Number.parseInt(sizeLimit, 10) * 2 ** 30).toBeGreaterThanOrEqual(2 * maxBytes + 2 * 2 ** 30);
  });
});

test('the size of logs reaches both programs as a whole number', async () => {
  const objects = await renderValues(blocksOf('sizing.md')[1] ?? '');
  for (const name of ['lab-gateway', 'lab-controller'])
    expect(JSON.stringify(oneOf(objects, 'Deployment', name))).toContain(
      '{"name":"CORRAL_EVENT_LOG_MAX_BYTES","value":"12884901888"}',
    );
});

const namesOf = (objects: readonly Rendered[]) =>
  objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`);

const Application = Type.Object({
  spec: Type.Object({
    source: Type.Object({
      helm: Type.Object({ releaseName: Type.String(), valuesObject: Type.Unknown() }),
    }),
  }),
});

describe('the Application of Argo CD', () => {
  const [, manifest = ''] = blocksOf('gitops.md');
  const rendered = async () => {
    const [document] = parseAllDocuments(manifest);
    const { releaseName, valuesObject } = Value.Parse(Application, document?.toJS()).spec.source.helm;
    return renderValues(JSON.stringify(valuesObject), releaseName);
  };

  test('has the values that the page shows before it', async () => {
    const fromPage = await renderValues(blocksOf('gitops.md')[0] ?? '', 'research');
    const withoutPreflight = (await rendered()).filter(
      ({ metadata }) => metadata.name !== 'research-preflight',
    );
    expect(namesOf(withoutPreflight)).toEqual(
      namesOf(fromPage.filter(({ metadata }) => metadata.name !== 'research-preflight')),
    );
  });

  test('runs nothing before a sync, its preflight after it, and its sweep after its deletion', async () => {
    const objects = await rendered();
    const hooks = objects.flatMap(({ kind, metadata: { annotations = {}, name } }) => {
      const hook = annotations['argocd.argoproj.io/hook'] ?? annotations['helm.sh/hook'];
      return hook !== undefined && kind === 'Job' ? [`${name} ${hook}`] : [];
    });
    expect(hooks.toSorted()).toEqual(['research-preflight PostSync', 'research-sweep post-delete']);
  });

  test('makes no Secret, because each rendering would make another', async () => {
    expect((await rendered()).filter(({ kind }) => kind === 'Secret')).toEqual([]);
  });

  test('has no number of gateways that would undo an autoscaler', async () => {
    const values = `${blocksOf('gitops.md')[0]}gateway: { autoscaling: { kind: hpa } }\n`;
    const { spec } = oneOf(await renderValues(values, 'research'), 'Deployment', 'research-gateway');
    expect(spec).not.toHaveProperty('replicas');
  });
});

test('the release of Flux has the fields of its kind, and waits longer than gateways drain', () => {
  const [document] = parseAllDocuments(blocksOf('gitops.md')[2] ?? '');
  expect(document?.toJS()).toMatchObject({
    apiVersion: 'helm.toolkit.fluxcd.io/v2',
    kind: 'HelmRelease',
    spec: { timeout: '15m', test: { enable: true } },
  });
});

const dashboard = (objects: readonly Rendered[]) =>
  JSON.stringify(oneOf(objects, 'ConfigMap', 'lab-dashboard-whose-failure')['data']);
const gateway = (objects: readonly Rendered[]) => JSON.stringify(oneOf(objects, 'Deployment', 'lab-gateway'));

test('the address of the docs is in dashboards and in error bodies, and nowhere if it is not given', async () => {
  const own = 'docs: https://docs.example.com/corral/\nmonitoring: { dashboards: { enabled: true } }\n';
  const [given, usual] = [
    await renderValues(own),
    await renderValues('monitoring: { dashboards: { enabled: true } }\n'),
  ];
  expect(dashboard(given)).toContain('https://docs.example.com/corral/failures.md');
  expect(dashboard(given)).not.toMatch(/[^/a-z]docs\/failures\.md/);
  expect(dashboard(usual)).toContain(' docs/failures.md');
  expect(gateway(given)).toContain('{"name":"CORRAL_DOCS","value":"https://docs.example.com/corral"}');
  expect(gateway(usual)).not.toContain('CORRAL_DOCS');
});
