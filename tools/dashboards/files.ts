import { dashboards } from '#infra/monitoring/dashboards/dashboards.ts';
import { grafanaOf } from '#infra/monitoring/dashboards/grafana.ts';
import { dashboardsPage } from './page.ts';
import { pictureOf } from './picture.ts';

/** Everything that is written from the definition of the dashboards: texts by path, from the repository's root. */
export function dashboardFiles(): Readonly<Record<string, string>> {
  const files = dashboards.flatMap((dashboard) => [
    [
      `charts/corral/files/dashboards/${dashboard.uid}.json`,
      `${JSON.stringify(grafanaOf(dashboard), null, 1)}\n`,
    ],
    [`docs/dashboards/${dashboard.uid}.svg`, pictureOf(dashboard)],
  ]);
  return { ...Object.fromEntries(files), 'docs/dashboards.md': dashboardsPage() };
}
