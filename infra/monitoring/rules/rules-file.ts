import { stringify } from 'yaml';
import { placeholders, type Recording } from './rule.ts';
import { type AlertName, alertOf, type Group, groups } from './rules.ts';

/** What an installation says of itself. */
export type Values = Readonly<Record<keyof typeof placeholders, string>>;

const head = '# Written by tools/write-rules.ts from infra/monitoring/rules. Change the rules there.\n';

/** The rules as Prometheus reads them, with {@link placeholders} where an installation differs. */
export const rulesFile = (): string =>
  head + stringify({ groups: groups.map(asGroup) }, { lineWidth: 0, singleQuote: true });

const asGroup = ({ name, recordings, alerts }: Group) => ({
  name,
  rules: [...recordings.map(asRecording), ...alerts.map(asAlert)],
});

const asRecording = ({ record, expr, labels }: Recording) => ({ record, expr, ...(labels && { labels }) });

function asAlert(name: AlertName) {
  const { severity, blame, expr, summary, description, for: forTime } = alertOf(name);
  return {
    alert: name,
    expr,
    ...(forTime !== '0s' && { for: forTime }),
    labels: { severity, blame },
    annotations: { summary, description, runbook_url: runbookOf(name) },
  };
}

/** Where an alert's page is. */
export const runbookOf = (name: string): string => `${placeholders.runbooks}/${name}.md`;

/** The text with an installation's values. */
export const filled = (text: string, values: Values): string =>
  (Object.keys(placeholders) as (keyof Values)[]).reduce(
    (whole, name) => whole.replaceAll(placeholders[name], values[name]),
    text,
  );

const millisecondsOf = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The same rules with every range and every `for` divided by `speed`, to see in seconds what takes minutes. */
export function faster(text: string, speed: number): string {
  const divided = (
    _: string,
    before: string,
    count: string,
    unit: keyof typeof millisecondsOf,
    after: string,
  ) => `${before}${Math.round((Number(count) * millisecondsOf[unit]) / speed)}ms${after}`;
  return text
    .replaceAll(/(\[)(\d+)([smhd])(\])/g, divided)
    .replaceAll(/(\n\s+for: )(\d+)([smhd])(\n)/g, divided);
}
