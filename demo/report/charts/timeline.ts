import type { ScatterSeriesOption } from 'echarts';
import type { Findings } from '../report.ts';
import type { RolloutRecord } from '#demo/trainer/record.ts';
import {
  barSeries,
  cross,
  drawSvg,
  ink,
  legend,
  onRows,
  rowAxes,
  tones,
  valueAxis,
} from '#cli/drawing/svg.ts';

const rowHeightPx = 13;
const barHeightPx = 8;

type Bar = readonly [from: number, to: number, row: number];

/** The burst, one row a rollout, in the order in which they got their sandboxes. */
export function drawTimeline({ records, kills, fleetRollouts }: Findings): string {
  const waits = new Map(fleetRollouts.map((one) => [one.rollout, one.startMs ?? 0]));
  const waitOf = (record: RolloutRecord) => waits.get(record.rollout) ?? 0;
  const rows = records.toSorted((a, b) => waitOf(a) - waitOf(b) || a.endedMs - b.endedMs);
  const bars = (of: (record: RolloutRecord) => readonly (readonly [number, number])[]) =>
    rows.flatMap((record, row) => of(record).map(([from, to]): Bar => [from / 1000, to / 1000, row]));
  const granted = (record: RolloutRecord) => record.startedMs + waitOf(record);
  const calls = (record: RolloutRecord) =>
    record.calls.map((call) => [Math.max(call.startedMs, granted(record)), call.endedMs] as const);
  const life = barSeries(
    'policy thinks',
    ink.band,
    3,
    bars((one) => [[one.startedMs, one.endedMs]]),
  );
  const waiting = bars((one) => [[one.startedMs, granted(one)]]);
  const grading = bars(({ grading }) => (grading === null ? [] : [[grading.startedMs, grading.endedMs]]));
  return drawSvg(
    {
      legend: legend(),
      grid: { left: 24, right: 30, top: 40, bottom: 50 },
      xAxis: { ...valueAxis('time since the burst began (s)'), min: 0 },
      yAxis: quietRows(rows.length),
      series: [
        life,
        barSeries('waits for a sandbox', tones.grey, barHeightPx, waiting),
        barSeries('tool call', tones.blue, barHeightPx, bars(calls)),
        barSeries('grader', tones.green, barHeightPx, grading),
        killMarks(
          kills.map((kill) => [kill.atMs / 1000, rows.findIndex((one) => one.rollout === kill.rollout)]),
        ),
      ],
    },
    rows.length * rowHeightPx + 90,
  );
}

/** Sixty-four names would say nothing: the rows stay unnamed and unruled. */
function quietRows(count: number) {
  const [, placed] = rowAxes(Array.from({ length: count }, () => ''));
  return [{ type: 'category' as const, show: false }, placed];
}

const killMarks = (data: number[][]): ScatterSeriesOption => ({
  type: 'scatter',
  name: 'sandbox killed',
  symbol: cross,
  symbolSize: 14,
  color: tones.red,
  itemStyle: { borderColor: ink.page, borderWidth: 1.5 },
  data,
  z: 5,
  ...onRows,
});
