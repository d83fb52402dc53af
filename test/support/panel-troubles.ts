import { panelQueries, type PanelQuery } from '#infra/monitoring/dashboards/dashboards.ts';

export type Looked = {
  /** Where a Prometheus is that scrapes the fleet with the labels of the chart's PodMonitor, and records the rules. */
  readonly prometheusUrl: string;
  /** The time that somebody would look at: rollouts were played in it. */
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether sandboxes are pods, so that panels about the Kubernetes API must have data too. */
  readonly inCluster: boolean;
};

/**
 * Asks a Prometheus every query of every panel of all dashboards, as Grafana would. Returns a sentence for each that is
 * refused, and for each without data whose panel needs some after load was played: an empty list is a pass. Throws for a
 * Prometheus that does not answer.
 */
export async function panelTroubles(looked: Looked): Promise<readonly string[]> {
  const troubles: string[] = [];
  for (const query of panelQueries(rangeS(looked))) {
    const trouble = await troubleOf(query, looked);
    if (trouble !== null) troubles.push(`${query.panel}: ${trouble} (${query.expr})`);
  }
  return troubles;
}

const rangeS = ({ fromMs, toMs }: Looked): number => Math.ceil((toMs - fromMs) / 1000);

async function troubleOf(query: PanelQuery, looked: Looked): Promise<string | null> {
  const answer = await ask(query, looked);
  if (answer.status !== 'success') return `it is refused, ${answer.error}`;
  return needsData(query, looked) && !hasData(answer.data.result) ? 'it has no data' : null;
}

const needsData = ({ needs }: PanelQuery, { inCluster }: Looked): boolean =>
  needs === 'load' || (needs === 'cluster' && inCluster);

type Sample = readonly [atS: number, value: string];
type Result = readonly { readonly value?: Sample; readonly values?: readonly Sample[] }[];
type Answer =
  | { readonly status: 'success'; readonly data: { readonly result: Result } }
  | { readonly status: 'error'; readonly error: string };

/** What is no number is drawn as nothing. */
const hasData = (result: Result): boolean =>
  result.some(({ value, values = [] }) =>
    [...values, ...(value === undefined ? [] : [value])].some(([, said]) => said !== 'NaN'),
  );

/** As many points as a small panel has pixels. */
const pointsOfPanel = 300;

async function ask({ expr, over }: PanelQuery, looked: Looked): Promise<Answer> {
  const [startS, endS] = [looked.fromMs / 1000, looked.toMs / 1000];
  const step = Math.max(1, rangeS(looked) / pointsOfPanel);
  const [path, times] =
    over === 'end'
      ? ['query', { time: `${endS}` }]
      : ['query_range', { start: `${startS}`, end: `${endS}`, step: `${step}` }];
  const body = new URLSearchParams({ query: expr, ...times });
  const response = await fetch(`${looked.prometheusUrl}/api/v1/${path}`, { method: 'POST', body });
  return (await response.json()) as Answer;
}
