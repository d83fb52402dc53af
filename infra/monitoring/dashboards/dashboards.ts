import { burstsAndPools } from './bursts-and-pools.ts';
import type { DataNeed, Panel } from './definition.ts';
import { machinery } from './machinery.ts';
import { oneEnvironment } from './one-environment.ts';
import { whoseFailure } from './whose-failure.ts';

/** All dashboards, in the order in which an on-call engineer opens them. */
export const dashboards = [whoseFailure, burstsAndPools, oneEnvironment, machinery] as const;

/** One query of one panel, as Prometheus understands it. */
export type PanelQuery = {
  /** Which it is: the dashboard's uid and the panel's title. */
  readonly panel: string;
  readonly expr: string;
  /** Whether it is drawn over time, or asked once for the end of it. */
  readonly over: 'time' | 'end';
  readonly needs: DataNeed;
};

/**
 * Every query of every panel with Grafana's variables filled in: all fleets that have a namespace and a name, all
 * environments, and `rangeS` seconds as the time that is looked at.
 */
export function panelQueries(rangeS = 3600): readonly PanelQuery[] {
  return dashboards.flatMap(({ uid, rows }) =>
    rows.flatMap(({ panels }) =>
      panels.flatMap((panel) => queriesOf(`${uid}: ${panel.title}`, panel, rangeS)),
    ),
  );
}

const queriesOf = (name: string, { kind, needs, queries }: Panel, rangeS: number): readonly PanelQuery[] =>
  queries.map(({ expr }) => ({
    panel: name,
    expr: filledIn(expr, rangeS),
    over: kind === 'stat' || kind === 'table' ? 'end' : 'time',
    needs,
  }));

/**
 * A query with all fleets, all environments and `rangeS` seconds. A minute holds four scrapes at the chart's interval, which is
 * what Grafana chooses too.
 */
export const filledIn = (expr: string, rangeS: number): string =>
  expr
    .replaceAll('$__rate_interval', '1m')
    .replaceAll('$__range', `${rangeS}s`)
    .replaceAll(/\$(namespace|fleet|environment)/g, '.+');
