import type { Blame } from '#src/failure/codes.ts';

export type Severity = 'critical' | 'warning' | 'info';

/** As Prometheus writes them. In expressions they stand in brackets, so that a test can play the same rules faster. */
export type Duration = `${number}${'s' | 'm' | 'h' | 'd'}`;

export type Recording = {
  readonly record: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
};

/** One alert; it is named where it is listed, and has a page of its name in `docs/runbooks`. */
export type Alert = {
  /** `critical` pages the on-call engineer, `warning` waits for working hours, `info` is for the people who can change it. */
  readonly severity: Severity;
  /** Who caused the failure. Alerts are routed by this alone. */
  readonly blame: Blame;
  readonly expr: string;
  readonly for: Duration;
  /** The condition in words, for the table of docs/alerts.md. */
  readonly when: string;
  /** One sentence that a reader who was asleep understands; may use `$value` and `$labels`. */
  readonly summary: string;
  /** What it means and what to check first. No templates. */
  readonly description: string;
  /**
   * Alerts that explain this one. While one of them fires for the same fleet, this one is inhibited. So they must be at least as
   * severe: an alert that pages must not be held back by an alert that does not.
   */
  readonly consequenceOf?: readonly string[];
};

/** What an installation fills in; each is a plain text of the rules' file. */
export const placeholders = {
  namespace: '__NAMESPACE__',
  fleet: '__FLEET__',
  lostRollouts: '__LOST_ROLLOUTS__',
  toolCalls: '__TOOL_CALLS__',
  runbooks: '__RUNBOOKS__',
} as const;

/**
 * A metric of this fleet alone: two fleets that share a Prometheus have rules and objectives of their own. `where` is more
 * matchers, as PromQL has them.
 */
export function of(metric: string, where = ''): string {
  const own = `namespace="${placeholders.namespace}",fleet="${placeholders.fleet}"`;
  return `${metric}{${where === '' ? own : `${own},${where}`}}`;
}

/** Labels that every rule keeps, and more. */
export const by = (...labels: readonly string[]): string =>
  `by (${['namespace', 'fleet', ...labels].join(', ')})`;

/** Of counters: each process counts what it did itself, so they are added. */
export const sumOf = (
  what: 'rate' | 'increase',
  selector: string,
  range: Duration,
  ...labels: readonly string[]
): string => `sum ${by(...labels)} (${what}(${selector}[${range}]))`;

/**
 * How often something happened. `increase` guesses beyond the first and the last sample, so that three events may be told as 2.9
 * or 3.2; whole numbers are what happened.
 */
export const countOf = (selector: string, range: Duration, ...labels: readonly string[]): string =>
  `round(${sumOf('increase', selector, range, ...labels)})`;
