import type { Query } from './definition.ts';

/** Which fleets a person looks at; each query of each panel has it. */
const chosen = 'namespace=~"$namespace",fleet=~"$fleet"';

/** A matcher for metrics that have the label `environment`. */
export const ofEnvironment = 'environment=~"$environment"';

/** The series of a metric in the fleets that are looked at. */
export const series = (metric: string, ...matchers: readonly string[]): string =>
  `${metric}{${[chosen, ...matchers].join(',')}}`;

/** How fast a counter rises, per second. Grafana chooses an interval with enough scrapes in it. */
export const perSecond = (metric: string, ...matchers: readonly string[]): string =>
  `rate(${series(metric, ...matchers)}[$__rate_interval])`;

/** By how much a counter rose in the whole time that is looked at. */
export const inAll = (metric: string, ...matchers: readonly string[]): string =>
  `increase(${series(metric, ...matchers)}[$__range])`;

/** `sum by (labels) (what)`; without labels, of all. */
export const sum = (labels: readonly string[], what: string): string =>
  labels.length === 0 ? `sum (${what})` : `sum by (${labels.join(', ')}) (${what})`;

/** How fast a counter rises by labels, per minute: what is counted in ones is rarely one a second. */
export const perMinute = (
  labels: readonly string[],
  metric: string,
  ...matchers: readonly string[]
): string => `60 * ${sum(labels, perSecond(metric, ...matchers))}`;

/** The same of what happens at all: counters of everything that can fail stand at 0, and would fill the legend. */
export const thatHappens = (
  labels: readonly string[],
  metric: string,
  ...matchers: readonly string[]
): string => `${perMinute(labels, metric, ...matchers)} > 0`;

/** A part of a whole; nothing where the whole is nothing, since a share of nothing is neither good nor bad. */
export const share = (part: string, whole: string): string => `${part} / (${whole} > 0)`;

type Rise = (metric: string, ...matchers: readonly string[]) => string;

/**
 * Which share of a counter's rise has the matchers `part`, of all that has `ofAll`, by labels. What never happened may have
 * no series yet: that is a share of 0, not none.
 */
export const shareOf = (
  rise: Rise,
  metric: string,
  labels: readonly string[],
  { part, ofAll }: { readonly part: readonly string[]; readonly ofAll: readonly string[] },
): string => {
  const whole = sum(labels, rise(metric, ...ofAll));
  return share(`(${sum(labels, rise(metric, ...part, ...ofAll))} or 0 * ${whole})`, whole);
};

/** The seconds that all but the slowest stay below, by labels. */
export const quantile = (
  q: number,
  metric: string,
  labels: readonly string[],
  ...matchers: readonly string[]
): string =>
  `histogram_quantile(${q}, ${sum(['le', ...labels], perSecond(`${metric}_bucket`, ...matchers))})`;

/** Half of them, and all but one in a hundred. */
export const halfAndSlowest = (
  metric: string,
  labels: readonly string[],
  ...matchers: readonly string[]
): readonly [Query, Query] => {
  const legend = labels.map((label) => `{{${label}}} `).join('');
  return [
    { expr: quantile(0.5, metric, labels, ...matchers), legend: `${legend}half` },
    { expr: quantile(0.99, metric, labels, ...matchers), legend: `${legend}99 of 100` },
  ];
};

/** Every controller tells the same of the fleet: the largest is the newest, and a sum would count it twice. */
export const newest = (labels: readonly string[], what: string): string =>
  `max by (${['namespace', 'fleet', ...labels].join(', ')}) (${what})`;

/** A metric of the whole fleet, by labels. */
export const ofFleet = (metric: string, labels: readonly string[], ...matchers: readonly string[]): string =>
  newest(labels, series(metric, ...matchers));

/**
 * An expression that is by `namespace`, `fleet` and `template`, by environment. Several environments may share a template,
 * and its figure counts for each of them. They are the many of the join: the other way round Prometheus refuses it.
 */
export const overEnvironments = (how: 'sum' | 'max', byTemplate: string): string => {
  const environments = ofFleet('corral_fleet_template_info', ['template', 'environment'], ofEnvironment);
  return `${how} by (environment) (${environments} * on (namespace, fleet, template) group_left () ${byTemplate})`;
};

/** A count of what templates have, by environment. */
export const byEnvironment = (metric: string, ...matchers: readonly string[]): string =>
  overEnvironments('sum', ofFleet(metric, ['template'], ...matchers));

/** The only query of a panel; without a legend, it has only one series. */
export const one = (expr: string, legend = ''): readonly [Query] => [{ expr, legend }];
