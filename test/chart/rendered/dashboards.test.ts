import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { chartFolder, home, render, type Rendered } from '#test/support/helm.ts';

const folder = join(chartFolder, 'files/dashboards');
const names = (await readdir(folder)).sort();
const enabled = ['--set', 'monitoring.dashboards.enabled=true'];

const dashboardsIn = (objects: readonly Rendered[]): readonly Rendered[] =>
  objects.filter(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.includes('-dashboard-'));

test('without being asked the chart makes no dashboards', async () => {
  expect(dashboardsIn(await render('minimal'))).toEqual([]);
});

test('each dashboard is a ConfigMap that Grafana’s sidecar finds, with the very file in it', async () => {
  const made = dashboardsIn(await render('minimal', ...enabled));
  const files = made.map(({ data }) => data as Readonly<Record<string, string>>);
  expect(files.flatMap((one) => Object.keys(one)).sort()).toEqual(names);
  for (const [name, text] of files.flatMap((one) => Object.entries(one)))
    expect(text.trimEnd() === (await readFile(join(folder, name), 'utf8')).trimEnd(), name).toBe(true);
  for (const { metadata } of made) {
    expect(metadata).toMatchObject({
      namespace: home,
      labels: { grafana_dashboard: '1' },
      annotations: { grafana_folder: 'Corral' },
    });
  }
});

test('labels and folder are those of another Grafana, if it has others', async () => {
  const labels = ['--set-json', 'monitoring.dashboards.labels={"grafana_dashboard":null,"board":"yes"}'];
  const made = dashboardsIn(
    await render('minimal', ...enabled, ...labels, '--set', 'monitoring.dashboards.folder='),
  );
  expect(made).toHaveLength(names.length);
  for (const { metadata } of made) {
    expect(metadata.labels).toMatchObject({ board: 'yes' });
    expect(metadata.labels).not.toHaveProperty('grafana_dashboard');
    expect(metadata.annotations).toBeUndefined();
  }
});
