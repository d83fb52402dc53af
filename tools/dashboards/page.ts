import { dashboards } from '#infra/monitoring/dashboards/dashboards.ts';
import type { DataNeed, Dashboard, Panel, Row } from '#infra/monitoring/dashboards/definition.ts';
import { thresholdsOf, unitText } from '#infra/monitoring/dashboards/description.ts';
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
    'Four dashboards for Grafana (schema 42), over a Prometheus that scrapes gateways and controllers. The pictures show where each panel is, without data. ' +
      'In Grafana the `i` next to a title shows the same text, and why its limits are where they are.',
  ),
  '## Get them into Grafana',
  wrapped(
    'The chart makes a ConfigMap of each, which the dashboard sidecar of Grafana charts finds by its label:',
  ),
  [
    '```yaml',
    'monitoring:',
    '  podMonitor: { enabled: true }',
    '  dashboards: { enabled: true, folder: Corral }',
    '```',
  ].join('\n'),
  wrapped(
    'Without the sidecar, import the files of `charts/corral/files/dashboards/`; their uids are fixed, so a later import replaces them. ' +
      'They need the labels `namespace`, `pod`, `component` and `fleet`, which the chart’s PodMonitor gives. ' +
      'Choose Prometheus, namespaces, fleets and environments at the top; links between dashboards keep the choice.',
  ),
  wrapped(
    'The panel “How fast is the budget of lost rollouts spent?” needs the recording rules of `monitoring.rules`. ' +
      'The limits are those of the default objectives, one rollout and one tool call in a thousand; [alerts](alerts.md) describes how to set others.',
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
  table(['panel', 'shows', 'if it is red, or looks odd', 'limits'], panels.map(panelRow)),
];

const panelRow = ({ title, unit, reading, todo, limits, needs }: Panel): readonly string[] =>
  [`**${title}** (${unitText(unit)})`, `${reading}${emptiness[needs]}`, todo, thresholdsOf(limits, unit)].map(
    (cell) => cell.replaceAll('|', '\\|'),
  );

/** What it means if a panel has no data, unless simply no rollout is running. */
const emptiness = {
  load: '',
  cluster: ' Empty if sandboxes are not pods.',
  event: ' Empty until it happens.',
} as const satisfies Record<DataNeed, string>;
