import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { manifests } from '#src/adapters/kubernetes/manifests/manifests.ts';
import { loadCluster } from '#src/environments/load-cluster.ts';
import {
  chartFolder,
  fleetOf,
  helm,
  home,
  oneOf,
  render,
  type Rendered,
  renderText,
  valueSets,
  valuesFile,
} from '#test/support/helm.ts';

const ofTheCluster = new Set(['Namespace', 'ClusterRole', 'ClusterRoleBinding', 'PriorityClass']);

describe.each(valueSets)('the chart with its %s values', (set) => {
  test('is what Helm calls well made', async () => {
    const linted = await helm([
      'lint',
      chartFolder,
      '--strict',
      '--values',
      valuesFile(set),
      '--namespace',
      home,
    ]);
    expect(linted).toContain('0 chart(s) failed');
  });

  test('is objects with a kind, a name, a namespace where they have one, and the fleet’s label', async () => {
    for (const object of await render(set)) {
      const { name, namespace, labels } = object.metadata;
      expect(object).toMatchObject({
        apiVersion: expect.any(String) as string,
        kind: expect.any(String) as string,
      });
      expect(labels?.['corral.dev/fleet'], `${object.kind} ${name}`).toBe(fleetOf[set]);
      if (object.kind !== 'ConfigMap' || name !== 'rendered-extra')
        expect(namespace !== undefined, `${object.kind} ${name}`).toBe(!ofTheCluster.has(object.kind));
    }
  });

  test('has no object twice and no field without a value', async () => {
    const objects = await render(set);
    const places = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace} ${metadata.name}`);
    expect(places.filter((place, index) => places.indexOf(place) !== index)).toEqual([]);
    expect(JSON.stringify(objects)).not.toMatch(/:null|<no value>|%!/);
  });

  test('is the same whenever it is rendered: nothing in it is drawn by chance', async () => {
    expect(await renderText(set)).toBe(await renderText(set));
  });

  test('gives the sandboxes what `corral cluster manifests` gives them, and the accounts the same rights', async () => {
    const objects = await render(set);
    const fleet = fleetOf[set];
    const { data } = oneOf(objects, 'ConfigMap', `${fleet}-cluster`);
    const cluster = await asCluster((data as Readonly<Record<string, string>>)['cluster.yaml'] ?? '');
    const wanted = (manifests({ ...cluster, fleet, home }) as readonly Rendered[])
      // Helm makes the release's own namespace before the chart is asked, and a namespace of somebody else's is there.
      .filter(({ kind, metadata }) => kind !== 'Namespace' || (metadata.name !== home && set !== 'gitops'));
    for (const one of wanted) {
      const same = ({ kind, metadata }: Rendered) =>
        kind === one.kind &&
        metadata.name === one.metadata.name &&
        metadata.namespace === one.metadata.namespace;
      expect(objects.filter(same).map(bare)).toEqual([bare(one)]);
    }
    expect(wanted.length).toBeGreaterThan(8);
  });

  test('gives nobody a right that is not in the manifests but the jobs of an installation', async () => {
    const roles = (await render(set))
      .filter(({ kind }) => kind.endsWith('Role'))
      .map(({ metadata }) => metadata);
    const others = roles.filter(({ annotations }) => annotations?.['helm.sh/hook'] === undefined);
    const fleet = fleetOf[set];
    expect(others.map(({ name }) => name).toSorted()).toEqual(
      [`${fleet}-controller`, `corral-${fleet}-node-events`, `corral-${fleet}-nodes`].toSorted(),
    );
  });
});

test('names that YAML takes for numbers or truths stay names', async () => {
  const changes = { fleet: '123', 'sandboxes.namespace.name': '456', nameOverride: 'true' };
  const strings = Object.entries(changes).flatMap(([name, value]) => ['--set-string', `${name}=${value}`]);
  const network = ['--set-json', 'clusterConfig={"networks":{"1e3":{},"on":{}}}'];
  for (const { kind, metadata } of await render('minimal', '--namespace', '789', ...strings, ...network)) {
    const { name, namespace = '', labels = {} } = metadata;
    for (const text of [name, namespace, ...Object.values(labels)])
      expect(typeof text, `${kind} ${name}`).toBe('string');
  }
});

/** Labels of the chart's own and of Helm's come on top; annotations are the operator's. */
function bare({ metadata: { name, namespace, labels = {} }, ...rest }: Rendered): object {
  const { 'corral.dev/fleet': fleet, 'pod-security.kubernetes.io/enforce': level } = labels;
  return { ...rest, metadata: { name, namespace, fleet, level } };
}

async function asCluster(text: string) {
  const folder = await mkdtemp(join(tmpdir(), 'corral-chart-'));
  try {
    const file = join(folder, 'cluster.yaml');
    await writeFile(file, text);
    return await loadCluster(file);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test.each([
  [[], { kind: 'baked' }],
  [['--set', 'sandboxd.folder=/.corral/payload'], { kind: 'baked', folder: '/.corral/payload' }],
])('with %j, sandboxd is where the images have it', async (more, sandboxd) => {
  const objects = await render('minimal', '--set', 'sandboxd.delivery=baked', ...more);
  const { data } = oneOf(objects, 'ConfigMap', `${fleetOf.minimal}-cluster`);
  const text = (data as Readonly<Record<string, string>>)['cluster.yaml'] ?? '';
  expect(await asCluster(text)).toMatchObject({ sandboxd });
});
