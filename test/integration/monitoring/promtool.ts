import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { filled, rulesFile, runbookOf, type Values } from '#infra/monitoring/rules/rules-file.ts';
import type { Duration } from '#infra/monitoring/rules/rule.ts';
import { type AlertName, alertOf } from '#infra/monitoring/rules/rules.ts';
import type { Series, Stories, Told } from './story.ts';

/** The fleet whose metrics the stories tell, with the objectives that the chart has by default. */
export const valuesOfTest: Values = {
  namespace: 'lab-home',
  fleet: 'lab',
  lostRollouts: '0.001',
  toolCalls: '0.001',
  runbooks: 'docs/runbooks',
};
const ownLabels = { namespace: valuesOfTest.namespace, fleet: valuesOfTest.fleet };

/** The rules of that fleet, as Prometheus reads them. */
export const rulesOfTest = (): string => filled(rulesFile(), valuesOfTest);

type Rules = {
  readonly groups: readonly {
    readonly name: string;
    readonly rules: readonly { readonly alert?: string; readonly record?: string; readonly expr: string }[];
  }[];
};

/** One alert and what it reads: promtool evaluates every rule at every step of every story, and some stories last days. */
function rulesFor(name: AlertName): string {
  const { groups } = parse(rulesOfTest()) as Rules;
  const { expr } = alertOf(name);
  const needed = ({ alert, record }: Rules['groups'][number]['rules'][number]) =>
    alert === name || (record !== undefined && expr.includes(`${record}{`));
  const kept = groups.map((group) => ({ name: group.name, rules: group.rules.filter(needed) }));
  return stringify({ groups: kept.filter(({ rules }) => rules.length > 0) }, { lineWidth: 0 });
}

export type Said = { readonly code: number; readonly output: string };

/** Runs a program of the monitoring to its end: a failure is an answer. */
export const ask = (argv: readonly string[], cwd?: string): Promise<Said> =>
  new Promise((resolve) => {
    const [program = '', ...args] = argv;
    execFile(program, args, { cwd, timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), output: stdout + stderr });
    });
  });

/** Plays an alert's stories with promtool; what it says when one of them went otherwise, or an empty text. */
export async function played(promtool: string, alert: AlertName, stories: Stories): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'corral-stories-'));
  try {
    await writeFile(join(folder, 'rules.yaml'), rulesFor(alert));
    await writeFile(join(folder, 'stories.yaml'), storiesFile(alert, stories));
    const { code, output } = await ask([promtool, 'test', 'rules', 'stories.yaml'], folder);
    return code === 0 ? '' : output;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function storiesFile(alert: AlertName, { step = '30s', fires, silent, resolves }: Stories): string {
  const story = (when: string, series: Series, checks: object) => ({
    name: `${alert}: ${when}`,
    interval: step,
    input_series: Object.entries(series).map(([name, values]) => ({ series: ofTest(name), values })),
    ...checks,
  });
  const told = (at: Duration, alerts: readonly object[]) => ({
    alert_rule_test: [{ alertname: alert, eval_time: at, exp_alerts: alerts }],
  });
  const tests = [
    ...fires.map((one) => story(one.when, one.series, told(one.at, [expected(alert, one.told)]))),
    ...silent.map((one) => story(one.when, one.series, told(one.at, []))),
    ...resolves.map((one) =>
      story(one.when, one.series, { ...firing(alert, one.firesAt), ...told(one.goneAt, []) }),
    ),
  ];
  return stringify({ rule_files: ['rules.yaml'], evaluation_interval: step, tests }, { lineWidth: 0 });
}

/** Somebody is told, whatever it is; what it is, is another story. */
const firing = (alert: AlertName, at: Duration) => ({
  promql_expr_test: [
    {
      expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) > bool 0`,
      eval_time: at,
      exp_samples: [{ labels: '{}', value: 1 }],
    },
  ],
});

/** `name{a="b"}` with the labels that every scraped pod has. */
export function ofTest(series: string): string {
  const [name = '', labels = ''] = series.split(/[{}]/);
  const own = Object.entries(ownLabels).map(([label, value]) => `${label}="${value}"`);
  return `${name}{${[...own, ...(labels === '' ? [] : [labels])].join(',')}}`;
}

function expected(alert: AlertName, { labels = {}, summary }: Told) {
  const { severity, blame, description } = alertOf(alert);
  return {
    exp_labels: { ...ownLabels, severity, blame, ...labels },
    exp_annotations: { summary, description, runbook_url: filled(runbookOf(alert), valuesOfTest) },
  };
}
