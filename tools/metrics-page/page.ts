import { catalogue, type MetricName, metricNames } from '#src/adapters/prometheus/catalogue/catalogue.ts';
import {
  type FleetSize,
  type Labels,
  mostSeries,
  type Process,
  type Spec,
} from '#src/adapters/prometheus/catalogue/spec.ts';
import { table, wrapped } from '../failures-page/markdown.ts';

/** The fleet for which bounds are printed, and held by a test. */
export const largeFleet: FleetSize = { templates: 300, environments: 50 };

/** docs/metrics.md, whole, from the catalogue. */
export function metricsPage(): string {
  const parts = [
    '<!-- Written by tools/write-metrics-page.ts from src/adapters/prometheus/catalogue/. Change the sentences there. -->',
    ...head,
    ...sections.flatMap(({ title, about, has }) => [`## ${title}`, wrapped(about), tableOf(has)]),
    '## Buckets',
    bucketTable(),
    ...end,
  ];
  return `${parts.join('\n\n')}\n`;
}

const specOf = (name: MetricName): Spec => catalogue[name];

/** Most series of one process that tells all its metrics in a large fleet. */
export const mostOf = (process: Process): number =>
  metricNames
    .map(specOf)
    .filter(({ by }) => by.includes(process))
    .reduce((sum, spec) => sum + mostSeries(spec, largeFleet), 0);

const head = [
  '# Metrics',
  wrapped(
    'Every gateway and every controller serves its metrics at `GET /metrics`, in the text format of Prometheus and without a key. ' +
      'This page lists every name with every label. The only other metrics are the process’s own (`process_*`, `nodejs_*`).',
  ),
  [
    '- **Whose failure**: `blame` is `infrastructure`, `caller` or `model`, as in [failures](failures.md). A rollout that a trainer may score is not a failure, whatever the model did.',
    '- **Sum or maximum**: a gateway or controller counts what it did itself, so add them: `sum(rate(…))`. Every controller reads `corral_fleet_…` from the same fleet state, so take the maximum: `max by (template, state) (corral_fleet_pool)`.',
    '- **Zero**: counters with an alert exist from the start, at 0, for each environment in force. A counter that appears with its first failure would hide it from `increase()`.',
    '- **Environments and templates**: `environment` is a name that this process uses or used. `template` is the first 12 hex digits of a digest; `corral_fleet_template_info` has the names. All templates that rows make of one environment count as one, under its version.',
    '- **Bounds**: labels have only the values that this page lists. Anything else is `unknown`, so callers and policies cannot create series.',
    `- **Series**: the last column is the maximum of one process in a fleet of ${largeFleet.templates} templates and ${largeFleet.environments} environments: ${thousands(mostOf('gateway'))} in all for a gateway, ${thousands(mostOf('controller'))} for a controller.`,
  ].join('\n'),
] as const;

const end = [
  wrapped(
    'Percentiles come from buckets: `histogram_quantile(0.99, sum by (le, environment) (rate(corral_obtain_seconds_bucket{launch="warm"}[5m])))`.',
  ),
] as const;

type Section = { readonly title: string; readonly about: string; readonly has: (spec: Spec) => boolean };

const isOnlyOf = (process: Process) => (spec: Spec) =>
  spec.of === 'process' && spec.by.length === 1 && spec.by.includes(process);

const sections: readonly Section[] = [
  { title: 'Gateways', about: 'Answers, held requests and waits of one gateway.', has: isOnlyOf('gateway') },
  {
    title: 'Gateways and controllers',
    about: 'What one process has written to the event log, and what it measures.',
    has: ({ of, by }) => of === 'process' && by.length > 1,
  },
  { title: 'Controllers', about: 'Launches, ends and steps of one controller.', has: isOnlyOf('controller') },
  {
    title: 'Fleet',
    about: 'Every controller reports the same values: take the maximum, never the sum.',
    has: ({ of }) => of === 'fleet',
  },
];

function tableOf(has: Section['has']): string {
  const rows = metricNames.filter((name) => has(specOf(name))).map(rowOf);
  return table(['metric', 'kind', 'what it says', 'labels', 'series'], rows);
}

function rowOf(name: MetricName): readonly string[] {
  const spec = specOf(name);
  const labels = spec.labels.map(labelsOf).join('; ');
  return [`\`${name}\``, spec.kind, spec.help, labels, thousands(mostSeries(spec, largeFleet))];
}

/** As many values are listed; more are counted. */
const mostListed = 6;

function labelsOf(labels: Labels): string {
  const names = labels.names.map((name) => `\`${name}\``).join(', ');
  const said = [valuesOf(labels), labels.says].filter((part) => part !== '').join(', ');
  return said === '' ? names : `${names} (${said})`;
}

function valuesOf(labels: Labels): string {
  if (labels.kind === 'seen') return labels.most === 1 ? '' : `at most ${labels.most}`;
  if (labels.kind !== 'listed') return '';
  const isListed = labels.names.length === 1 && labels.rows.length <= mostListed;
  const isExplained = labels.rows.every(([value = '']) => labels.says.includes(`\`${value}\``));
  if (isListed) return isExplained ? '' : labels.rows.map(([value = '']) => `\`${value}\``).join(', ');
  return `${labels.rows.length} ${labels.names.length === 1 ? 'values' : 'combinations'}`;
}

function bucketTable(): string {
  const rows = metricNames.flatMap((name) => {
    const spec = specOf(name);
    if (spec.kind !== 'histogram') return [];
    const { seconds, because } = spec.buckets;
    return [[`\`${name}\``, seconds.join(', '), because]];
  });
  return table(['histogram', 'upper ends in seconds', 'why these'], rows);
}

function thousands(count: number): string {
  return count.toLocaleString('en-US');
}
