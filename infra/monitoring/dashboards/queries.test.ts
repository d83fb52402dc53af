import { expect, test } from 'vitest';
import { catalogue } from '#src/adapters/prometheus/catalogue/catalogue.ts';
import type { Labels, Spec } from '#src/adapters/prometheus/catalogue/spec.ts';
import { dashboards } from './dashboards.ts';

/** What a Prometheus adds to everything that it scrapes, by the chart's PodMonitor. */
const ofTarget = new Set(['namespace', 'pod', 'component', 'fleet']);
/** What is scraped beside Corral's own: Prometheus' word about its targets, and what every process tells of itself. */
const foreign = /^(up|process_\w+)$/;
/** What rules record is no metric of a process; they are compared with the rules where those are written. */
const recorded = /^corral:/;

const specs: Readonly<Record<string, Spec>> = catalogue;
const specOf = (name: string): Spec | undefined =>
  specs[name] ?? histogram(specs[name.replace(/_(bucket|count|sum)$/, '')]);
const histogram = (spec: Spec | undefined) => (spec?.kind === 'histogram' ? spec : undefined);

type Selector = { readonly metric: string; readonly matchers: readonly Matcher[] };
type Matcher = { readonly label: string; readonly how: string; readonly value: string };

function selectorsIn(expr: string): readonly Selector[] {
  return [...expr.matchAll(/([a-zA-Z_:][\w:]*)\{([^}]*)\}/g)].map(([, metric = '', matchers = '']) => ({
    metric,
    matchers: [...matchers.matchAll(/(\w+)(!=|=~|=)"([^"]*)"/g)].map(
      ([, label = '', how = '', value = '']) => ({
        label,
        how,
        value,
      }),
    ),
  }));
}

const ofCorral = ({ metric }: Selector) => !foreign.test(metric) && !recorded.test(metric);

/** The label among a metric's own. */
const labelOf = (metric: string, label: string): Labels | undefined =>
  specOf(metric)?.labels.find(({ names }) => names.includes(label));

/** What a label may say, where that is a list. */
function valuesOf(metric: string, label: string): readonly string[] | null {
  const found = labelOf(metric, label);
  if (found?.kind !== 'listed') return null;
  return found.rows.map((row) => row[found.names.indexOf(label)] ?? '');
}

const queries = dashboards.flatMap(({ uid, rows }) =>
  rows.flatMap(({ panels }) =>
    panels.flatMap(({ title, queries }) => queries.map(({ expr }) => ({ panel: `${uid}: ${title}`, expr }))),
  ),
);

/** What is wrong with queries, each with its panel. */
const troubles = (troublesOf: (expr: string) => readonly string[]): readonly string[] =>
  queries.flatMap(({ panel, expr }) => troublesOf(expr).map((trouble) => `${panel}: ${trouble}`));

const ownIn = (expr: string) => selectorsIn(expr).filter(ofCorral);

test('panels ask for metrics that there are', () => {
  expect(
    troubles((expr) =>
      ownIn(expr).flatMap(({ metric }) => (specOf(metric) === undefined ? [`there is no ${metric}`] : [])),
    ),
  ).toEqual([]);
  expect(queries.flatMap(({ expr }) => ownIn(expr)).length).toBeGreaterThan(100);
});

test('panels choose by labels that the metric has, and by values that it says', () => {
  expect(
    troubles((expr) =>
      ownIn(expr).flatMap(({ metric, matchers }) =>
        matchers.flatMap((matcher) =>
          isPossible(metric, matcher) ? [] : [`${metric} never has ${matcher.label}="${matcher.value}"`],
        ),
      ),
    ),
  ).toEqual([]);
});

function isPossible(metric: string, { label, how, value }: Matcher): boolean {
  if (labelOf(metric, label) === undefined) return ofTarget.has(label);
  const values = valuesOf(metric, label);
  if (values === null || value.includes('$')) return true;
  if (how !== '=~') return values.includes(value);
  return value.split('|').every((one) => values.some((said) => new RegExp(`^(${one})$`).test(said)));
}

test('panels group and join by labels that one of their metrics has', () => {
  expect(
    troubles((expr) => {
      const metrics = selectorsIn(expr).map(({ metric }) => metric);
      const isKnown = (label: string) => metrics.some((metric) => labelOf(metric, label) !== undefined);
      const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, labels = '']) =>
        labels.split(', '),
      );
      return grouped
        .filter((label) => !isKnown(label) && !ofTarget.has(label) && label !== 'le')
        .map((label) => `no metric has ${label}`);
    }),
  ).toEqual([]);
});

test('panels look at the chosen environments only, wherever a metric has them', () => {
  expect(
    troubles((expr) =>
      ownIn(expr)
        .filter(({ metric, matchers }) => {
          const chosen = matchers.some(
            ({ label, value }) => label === 'environment' && value === '$environment',
          );
          return chosen !== (labelOf(metric, 'environment') !== undefined);
        })
        .map(({ metric }) => metric),
    ),
  ).toEqual([]);
});

test('panels never add up what every controller tells of the fleet', () => {
  expect(
    troubles((expr) =>
      ownIn(expr)
        .map(({ metric }) => metric)
        .filter((metric) => specOf(metric)?.of === 'fleet')
        .filter(
          (metric) => !new RegExp(`max by \\([^)]*\\) \\(((rate|increase)\\()?${metric}\\{`).test(expr),
        ),
    ),
  ).toEqual([]);
});
