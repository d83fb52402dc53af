import { filledIn } from '#infra/monitoring/dashboards/dashboards.ts';
import { figure, unitText } from '#infra/monitoring/dashboards/description.ts';
import type { Dashboard, Limits, Panel, Query, Unit } from '#infra/monitoring/dashboards/definition.ts';

/* A dashboard's panels with their data, as text: what Grafana would draw of the same queries, limits and colours. */

export type Looked = { readonly url: string; readonly fromMs: number; readonly toMs: number };

/** Of one query's answer. Null: nothing was there at that time. */
export type Series = { readonly name: string; readonly values: readonly (number | null)[] };

/** As many as fit beside a name and two figures. */
const points = 30;

/** Every panel but the tables, under its row. Throws what Prometheus says of a query that it does not take. */
export async function dashboardText({ rows }: Dashboard, looked: Looked): Promise<string> {
  const lines: string[] = [];
  for (const { title, panels } of rows) {
    lines.push(...(lines.length === 0 ? [] : ['']), title.toUpperCase());
    for (const panel of panels.filter(({ kind }) => kind !== 'table'))
      lines.push(...panelLines(panel, await seriesOf(panel, looked)));
  }
  return lines.join('\n');
}

/** A figure with its colour, or a line for each series in which anything happened. */
export function panelLines(panel: Panel, series: readonly Series[]): readonly string[] {
  const { kind, title, unit, limits } = panel;
  if (kind === 'stat') {
    const value = series[0]?.values.at(-1) ?? null;
    const told = value === null ? 'no data' : `${rounded(value, unit).padEnd(10)}${colourOf(limits, value)}`;
    return [`${title.padEnd(titleWidth)}${told}`];
  }
  const seen = series.filter(({ values }) => mostOf(values) > 0);
  const top = Math.max(0, ...seen.map(({ values }) => mostOf(values)));
  const drawn = seen.map((one) => `  ${seriesLine(one, top, panel)}`);
  return [`${title} (${unitText(unit)})`, ...(drawn.length === 0 ? ['  nothing'] : drawn)];
}

const titleWidth = 34;
const nameWidth = 32;

function seriesLine({ name, values }: Series, top: number, { unit, limits }: Panel): string {
  const [now, most] = [values.at(-1) ?? null, mostOf(values)];
  const figures = `most ${rounded(most, unit)}, now ${now === null ? '–' : rounded(now, unit)}`;
  return `${name.padEnd(nameWidth)}${spark(values, top)}  ${`${figures}  ${colourOf(limits, most)}`.trim()}`;
}

const mostOf = (values: readonly (number | null)[]) => Math.max(0, ...values.map((value) => value ?? 0));

const heights = '▁▂▃▄▅▆▇█';

/** One letter for each value, as high as its part of `top`; blank where there was none. */
export const spark = (values: readonly (number | null)[], top: number): string =>
  values
    .map((value) => {
      const part = top === 0 ? 0 : (value ?? 0) / top;
      return value === null ? ' ' : (heights[Math.round(part * (heights.length - 1))] ?? '█');
    })
    .join('');

const rounded = (value: number, unit: Unit) => figure(Number(value.toPrecision(3)), unit);

/** Empty where no figure is good or bad by itself. */
function colourOf(limits: Limits, value: number): string {
  if ('none' in limits) return '';
  return limits.steps.findLast(({ from }) => value >= from)?.colour ?? limits.below;
}

async function seriesOf({ kind, queries }: Panel, looked: Looked): Promise<readonly Series[]> {
  const all = await Promise.all(queries.map((query) => ask(query, kind === 'stat', looked)));
  return all.flat();
}

type Sample = readonly [atS: number, value: string];
type Answer = {
  readonly status: string;
  readonly error?: string;
  readonly data?: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly value?: Sample;
      readonly values?: readonly Sample[];
    }[];
  };
};

async function ask(
  { expr, legend }: Query,
  atEnd: boolean,
  { url, fromMs, toMs }: Looked,
): Promise<Series[]> {
  const [startS, endS] = [fromMs / 1000, toMs / 1000];
  const stepS = (endS - startS) / points;
  const times = atEnd
    ? { time: `${endS}` }
    : { start: `${startS + stepS}`, end: `${endS}`, step: `${stepS}` };
  const query = filledIn(expr, Math.ceil(endS - startS));
  const body = new URLSearchParams({ query, ...times });
  const response = await fetch(`${url}/api/v1/${atEnd ? 'query' : 'query_range'}`, { method: 'POST', body });
  const { status, error, data } = (await response.json()) as Answer;
  if (status !== 'success') throw new Error(`${query}: ${error ?? status}`);
  return (data?.result ?? []).map(({ metric, value, values }) => ({
    name: legend.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ''),
    values: value === undefined ? spread(values ?? [], startS + stepS, stepS) : [numberOf(value[1])],
  }));
}

/** The samples at their places, null where there is none: a series may begin late and end early. */
function spread(samples: readonly Sample[], firstS: number, stepS: number): readonly (number | null)[] {
  const values: (number | null)[] = Array.from({ length: points }, () => null);
  for (const [atS, value] of samples) {
    const place = Math.round((atS - firstS) / stepS);
    if (place < points) values[place] = numberOf(value);
  }
  return values;
}

const numberOf = (text: string): number | null => (Number.isFinite(Number(text)) ? Number(text) : null);
