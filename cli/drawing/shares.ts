import type { LineSeriesOption } from 'echarts';
import { quantile } from './quantile.ts';
import { drawSvg, legend, valueAxis } from './svg.ts';

/** For each kind, the share that took no longer than each time. */
export function drawShares(
  time: string,
  share: string,
  kinds: readonly (readonly [name: string, tone: string, timesMs: readonly number[]])[],
): string {
  const series = kinds.flatMap(([name, tone, timesMs]) => stepSeries(name, tone, timesMs));
  return drawSvg(
    {
      legend: legend(),
      grid: { left: 60, right: 110, top: 44, bottom: 54 },
      xAxis: { ...valueAxis(time), min: 0 },
      yAxis: { ...valueAxis(share), min: 0, max: 100, interval: 25, nameGap: 40 },
      series,
    },
    320,
  );
}

function stepSeries(type: string, color: string, times: readonly number[]): readonly LineSeriesOption[] {
  if (times.length === 0) return [];
  const sorted = times.toSorted((a, b) => a - b);
  const share = (index: number) => ((index + 1) / sorted.length) * 100;
  return [
    {
      type: 'line',
      name: `${type} (${times.length})`,
      color,
      step: 'end',
      showSymbol: false,
      lineStyle: { width: 2.5 },
      data: [[sorted[0] ?? 0, 0], ...sorted.map((time, index) => [time, share(index)])],
      markPoint: {
        symbol: 'circle',
        symbolSize: 9,
        label: { position: 'right', offset: [4, 12], color, fontWeight: 'bold', formatter: '{b}' },
        data: [0.5, 0.99].map((at) => quantileMark(at, times)),
      },
    },
  ];
}

function quantileMark(at: number, times: readonly number[]) {
  const time = quantile(times, at) ?? 0;
  return { name: `p${at * 100} ${Math.round(time)} ms`, coord: [time, at * 100] };
}
