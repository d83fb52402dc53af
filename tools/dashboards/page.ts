import { dashboards } from '#infra/monitoring/dashboards/dashboards.ts';
import type { DataNeed, Dashboard, Panel, Row } from '#infra/monitoring/dashboards/definition.ts';
import { limitsOf, unitText } from '#infra/monitoring/dashboards/description.ts';
import { table, wrapped } from '../failures-page/markdown.ts';

/** docs/dashboards.md, whole, from the definition of the dashboards. */
export function dashboardsPage(): string {
  const parts = [
    '<!-- Written by tools/write-dashboards.ts from infra/monitoring/dashboards/. Change the sentences there. -->',
    ...head,
    ...dashboards.flatMap(dashboardPart),
  ];
  return `${parts.join('\n\n')}\n`;
}

const head = [
  '# Dashboards',
  wrapped(
    'Four dashboards for Grafana (schema 42), over a Prometheus that scrapes gateways and controllers. The pictures below show where each panel is; ' +
      'they are drawn from the same definition as the dashboards themselves, and no data is in them. ' +
      'In Grafana every panel has the same text, under the `i` next to its title.',
  ),
  '## Get them into Grafana',
  wrapped(
    'The chart makes a ConfigMap of each, which the dashboard sidecar of the usual Grafana charts finds by its label:',
  ),
  [
    '```yaml',
    'monitoring:',
    '  podMonitor: { enabled: true }',
    '  dashboards: { enabled: true, folder: Corral }',
    '```',
  ].join('\n'),
  wrapped(
    'Without the sidecar, import the files of `charts/corral/files/dashboards/` by hand; their uids are fixed, so that a later import replaces them. ' +
      'They need the labels `namespace`, `pod`, `component` and `fleet`, which the chart’s PodMonitor gives. ' +
      'At the top of each is chosen what is looked at: Prometheus, namespaces, fleets and environments; the links from one dashboard to the others carry that along.',
  ),
  wrapped(
    'The panel “How fast is the budget of lost rollouts spent?” needs the recording rules of `monitoring.rules`; all others only what is scraped. ' +
      'Limits are those of the default objectives, one rollout and one tool call in a thousand; [alerts](alerts.md) describes how to set others.',
  ),
];

function dashboardPart({ uid, title, description, rows }: Dashboard): readonly string[] {
  return [
    `## ${title.replace('Corral / ', '')}`,
    wrapped(description),
    `![The layout of ${title}](dashboards/${uid}.svg)`,
    ...rows.flatMap(rowPart),
  ];
}

const rowPart = ({ title, panels }: Row): readonly string[] => [
  `### ${title}`,
  table(['panel', 'what it shows', 'when it is red, or looks odd', 'limits'], panels.map(panelRow)),
];

const panelRow = ({ title, unit, reading, todo, limits, needs }: Panel): readonly string[] =>
  [`**${title}** (${unitText(unit)})`, `${reading}${emptiness[needs]}`, todo, limitsOf(limits, unit)].map(
    (cell) => cell.replaceAll('|', '\\|'),
  );

/** What it means if a panel has no data, unless simply no rollout is running. */
const emptiness = {
  load: '',
  cluster: ' Empty where sandboxes are no pods.',
  event: ' Empty while there was none.',
} as const satisfies Record<DataNeed, string>;
