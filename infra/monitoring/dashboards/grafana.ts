import {
  BigValueGraphMode,
  GraphThresholdsStyleConfigBuilder,
  GraphThresholdsStyleMode,
  ReduceDataOptionsBuilder,
  SortOrder,
  StackingConfigBuilder,
  StackingMode,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  AnnotationQueryBuilder,
  type Dashboard as GrafanaDashboard,
  DashboardBuilder,
  DashboardCursorSync,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  type Panel as GrafanaPanel,
  QueryVariableBuilder,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableHide,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import {
  HeatmapColorMode,
  HeatmapColorOptionsBuilder,
  PanelBuilder as Heatmap,
  YAxisConfigBuilder,
} from '@grafana/grafana-foundation-sdk/heatmap';
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as Stat } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as Table } from '@grafana/grafana-foundation-sdk/table';
import { PanelBuilder as Timeseries } from '@grafana/grafana-foundation-sdk/timeseries';
import { type Dashboard, type Limits, type Panel, type PanelKind, type Query, units } from './definition.ts';
import { descriptionOf } from './description.ts';
import { layoutOf, type PlacedPanel } from './layout.ts';

const datasource = { type: 'prometheus', uid: '${datasource}' };

/** By this tag the dashboards find each other. */
const tag = 'corral';

/** What Grafana loads. */
export function grafanaOf(dashboard: Dashboard): GrafanaDashboard {
  const builder = new DashboardBuilder(dashboard.title)
    .uid(dashboard.uid)
    .description(dashboard.description)
    .tags([tag])
    .tooltip(DashboardCursorSync.Crosshair)
    .refresh('30s')
    .time({ from: 'now-1h', to: 'now' })
    .variables(variablesOf(dashboard))
    .link(linkToOthers)
    .annotation(startsOfProcesses);
  let id = 0;
  for (const { title, place, panels } of layoutOf(dashboard)) {
    builder.withRow(new RowBuilder(title).id((id += 1)).gridPos(place));
    for (const placed of panels) builder.withPanel(panelOf(placed, (id += 1)));
  }
  return builder.build();
}

/** They carry along what was chosen here, and when. */
const linkToOthers = new DashboardLinkBuilder('Corral')
  .type(DashboardLinkType.Dashboards)
  .tags([tag])
  .asDropdown(false)
  .includeVars(true)
  .keepTime(true);

/** Each start of a gateway or controller, at its own time: upgrades and crashes. */
const startsOfProcesses = new AnnotationQueryBuilder()
  .name('Starts of processes')
  .datasource(datasource)
  .enable(true)
  .iconColor('light-blue')
  .expr(
    'process_start_time_seconds{namespace=~"$namespace",fleet=~"$fleet",component=~"gateway|controller"} * 1000',
  )
  .useValueForTime(true)
  .titleFormat('{{component}} started')
  .textFormat('{{pod}}');

function variablesOf({ environments }: Dashboard) {
  const ofFleets = 'corral_build_info{namespace=~"$namespace"}';
  const ofVerdicts = 'corral_fleet_template_info{namespace=~"$namespace",fleet=~"$fleet"}';
  const environment = variable('environment', `label_values(${ofVerdicts}, environment)`)
    .multi(environments !== 'one')
    .includeAll(environments !== 'one')
    .hide(environments === 'unused' ? VariableHide.HideVariable : VariableHide.DontHide);
  return [
    new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus'),
    variable('namespace', 'label_values(corral_build_info, namespace)').multi(true).includeAll(true),
    variable('fleet', `label_values(${ofFleets}, fleet)`).multi(true).includeAll(true),
    environment,
  ];
}

/** `All` is `.*`, so that fleets whose Prometheus gives them no such label are seen too. */
const variable = (name: string, query: string) =>
  new QueryVariableBuilder(name)
    .datasource(datasource)
    .query({ query, refId: 'StandardVariableQuery' })
    .definition(query)
    .allValue('.*')
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);

type Builder = Stat | Timeseries | Heatmap | Table;

function panelOf({ panel, place }: PlacedPanel, id: number): { build(): GrafanaPanel } {
  const builder: Builder = looks[panel.kind](panel);
  builder
    .id(id)
    .title(panel.title)
    .description(descriptionOf(panel))
    .datasource(datasource)
    .gridPos(place)
    .unit(units[panel.unit].grafana)
    .noValue('nothing yet')
    .thresholds(thresholdsOf(panel.limits));
  panel.queries.forEach((query, index) => builder.withTarget(targetOf(panel, query, index)));
  return builder;
}

const thresholdsOf = (limits: Limits) =>
  new ThresholdsConfigBuilder()
    .mode(ThresholdsMode.Absolute)
    .steps(
      'none' in limits
        ? [{ value: null, color: 'text' }]
        : [
            { value: null, color: limits.below },
            ...limits.steps.map(({ from, colour }) => ({ value: from, color: colour })),
          ],
    );

/** Panels of one figure or a table look at the end of the time, and their ranges at all of it. */
function targetOf({ kind }: Panel, { expr, legend }: Query, index: number): DataqueryBuilder {
  const target = new DataqueryBuilder()
    .expr(expr)
    .legendFormat(legend)
    .refId(String.fromCharCode('A'.charCodeAt(0) + index));
  if (kind === 'stat') return target.instant();
  if (kind === 'table') return target.instant().format(PromQueryFormat.Table);
  return kind === 'heatmap' ? target.range().format(PromQueryFormat.Heatmap) : target.range();
}

const looks: Readonly<Record<PanelKind, (panel: Panel) => Builder>> = {
  stat: () =>
    new Stat()
      .graphMode(BigValueGraphMode.None)
      .reduceOptions(new ReduceDataOptionsBuilder().calcs(['lastNotNull']).fields('').values(false)),
  lines: (panel) => curves(panel).fillOpacity(0),
  stacked: (panel) =>
    curves(panel).fillOpacity(40).stacking(new StackingConfigBuilder().mode(StackingMode.Normal).group('A')),
  heatmap: ({ unit }) =>
    new Heatmap()
      .calculate(false)
      .color(
        new HeatmapColorOptionsBuilder()
          .mode(HeatmapColorMode.Scheme)
          .scheme('Oranges')
          .exponent(0.5)
          .steps(64),
      )
      .yAxis(new YAxisConfigBuilder().unit(units[unit].grafana)),
  // The hour at which it was asked says nothing.
  table: () =>
    new Table().transformations([
      { id: 'organize', options: { excludeByName: { Time: true }, renameByName: { Value: 'Count' } } },
    ]),
};

function curves({ limits, queries }: Panel): Timeseries {
  const style = 'none' in limits ? GraphThresholdsStyleMode.Off : GraphThresholdsStyleMode.Dashed;
  const builder = new Timeseries()
    .lineWidth(1)
    .min(0)
    .legend(new VizLegendOptionsBuilder().showLegend(true))
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending))
    .thresholdsStyle(new GraphThresholdsStyleConfigBuilder().mode(style));
  if (queries.some(({ legend }) => legend.endsWith('{{blame}}'))) colourByBlame(builder);
  return builder;
}

/** The same blame has the same colour in every panel. */
function colourByBlame(builder: Timeseries): void {
  const colours = { infrastructure: 'red', caller: 'orange', model: 'blue', none: 'green' };
  for (const [blame, fixedColor] of Object.entries(colours))
    builder.overrideByRegexp(`/${blame}$/`, [{ id: 'color', value: { mode: 'fixed', fixedColor } }]);
}
