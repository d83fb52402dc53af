import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { manifests } from '#src/adapters/kubernetes/manifests/manifests.ts';
import { catalogue } from '#src/adapters/prometheus/catalogue/catalogue.ts';
import { loadCluster } from '#src/environments/load-cluster.ts';
import { ClusterSchema, PolicySchema } from '#src/environments/schema/operator.ts';
import { environmentFolder } from '../support/environment-folder.ts';

// Operators rely on docs/operators.md and docs/cluster-files.md, so the tests load what they show and compare what they list.

const read = (page: string) => readFile(join(import.meta.dirname, '../../docs', page), 'utf8');
const page = (await Promise.all(['operators.md', 'cluster-files.md'].map(read))).join('\n');

/** The first cells of the tables of a section, without their quotes. */
function listedIn(title: string): readonly string[] {
  const [, section = ''] = page.split(`\n## ${title}\n`);
  const rows = (section.split('\n## ')[0] ?? '').matchAll(/^\| (`.+?`) \|/gm);
  return [...rows].map(([, cell = '']) => cell.replaceAll('`', ''));
}

/** What of JSON Schema is looked at. */
type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
};
const plain = (schema: object): Schema => JSON.parse(JSON.stringify(schema)) as Schema;

/** Names of all settings of a schema; those of an object under its own, and `*` for a name that the operator gives. */
function settingsOf(schema: Schema, prefix = ''): readonly string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const place = `${prefix}${name}`;
    const byName = Object.values(inner.patternProperties ?? {});
    const below = byName.flatMap((each) => settingsOf(each, `${place}.*.`));
    // A group is told by its parts; a list of things, or things by name, also by itself.
    const itself = inner.properties === undefined ? [place] : [];
    return itself.concat(below, settingsOf(inner.items ?? inner, `${place}.`));
  });
}

describe('the operators’ page lists exactly', () => {
  test('the settings of the cluster file', () => {
    // A toleration's own three stand in one line.
    const settings = settingsOf(plain(ClusterSchema)).filter(
      (name) => !name.startsWith('placement.tolerations.'),
    );
    expect(listedIn('cluster.yaml').toSorted()).toEqual(settings.toSorted());
  });

  test('the settings of the policy', () => {
    expect(listedIn('policy.yaml').toSorted()).toEqual(settingsOf(plain(PolicySchema)).toSorted());
  });

  test('what the manifests create', async () => {
    const cluster = await loaded();
    const created = manifests({ ...cluster, fleet: 'lab', home: 'corral' }) as readonly Created[];
    const told = created.map(({ kind, metadata: { name } }) =>
      kind === 'Namespace' ? kind : `${kind} ${name.replace('mirrors', 'CLASS')}`,
    );
    const listed = listedIn('Created objects').flatMap(objectsOf);
    expect(listed.toSorted()).toEqual(told.toSorted());
  });

  test('metrics that there are', () => {
    const metrics = listedIn('Inspect sandboxes');
    expect(metrics.length).toBeGreaterThan(0);
    expect(metrics.filter((metric) => !Object.hasOwn(catalogue, metric))).toEqual([]);
  });
});

type Created = { readonly kind: string; readonly metadata: { readonly name: string } };

/** `Role and RoleBinding lab-controller`: one cell names two objects. */
function objectsOf(cell: string): readonly string[] {
  const words = cell.split(' ');
  const name = words.find((word) => word.includes('-'));
  const kinds = words.filter((word) => /^[A-Z]/.test(word));
  return kinds.map((kind) => (name === undefined || kind === 'Namespace' ? kind : `${kind} ${name}`));
}

async function loaded() {
  const [, yaml = ''] = /^```yaml\n(# cluster\.yaml\n[\s\S]*?)^```$/m.exec(page) ?? [];
  await using folder = await environmentFolder({ 'cluster.yaml': yaml });
  return loadCluster(join(folder.path, 'cluster.yaml'));
}

test('the cluster file that it shows loads, with a network class that opens one proxy', async () => {
  expect((await loaded()).networks).toEqual({
    mirrors: {
      dnsPolicy: 'ClusterFirst',
      env: { HTTPS_PROXY: 'http://10.20.0.7:3128' },
      egress: [{ cidr: '10.20.0.7/32', except: [], ports: [{ port: 3128, protocol: 'TCP' }] }],
    },
  });
});
