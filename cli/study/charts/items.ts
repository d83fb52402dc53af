import type { CustomSeriesRenderItem } from 'echarts';
import {
  barSeries,
  ceilingLine,
  cross,
  drawSvg,
  ink,
  legend,
  onRows,
  rowAxes,
  tones,
  valueAxis,
} from '#cli/drawing/svg.ts';
import type { Ceiling } from '../rollout.ts';
import type { ItemSpread, PartSpread } from '../spread.ts';

/** More bars than that are no wider than a line on the page. */
export const mostBars = 400;

/** One bar an item, the best paid first: its mean, a line of ±σ, and the best copy as a red cross; each ceiling across all of it. */
export function drawItems(items: readonly ItemSpread[], ceilings: readonly Ceiling[] = []): string {
  const shown = evenly(items, mostBars);
  const few = shown.length <= 30;
  // Rewards end at 1 nearly always, and an axis that ends elsewhere makes two reports look different.
  const top = Math.max(1, ...shown.map(({ best }) => best));
  return drawSvg(
    {
      legend: legend(),
      grid: { left: 56, right: 30, top: 44, bottom: few ? 110 : 40 },
      xAxis: {
        type: 'category',
        data: shown.map(({ item }) => item),
        name: few ? '' : `${shown.length} items, by their mean`,
        nameLocation: 'middle',
        nameGap: 14,
        nameTextStyle: { color: ink.quiet },
        axisLabel: { show: few, color: ink.quiet, rotate: 40, interval: 0, width: 150, overflow: 'truncate' },
        axisTick: { show: false },
        axisLine: { lineStyle: { color: ink.grid } },
      },
      yAxis: { ...valueAxis('reward'), min: 0, max: top },
      series: [
        {
          type: 'bar',
          name: 'mean of the copies',
          color: tones.blue,
          barCategoryGap: few ? '40%' : '15%',
          barMaxWidth: 36,
          data: shown.map(({ mean }) => mean),
          ...ceilingLine(ceilings),
        },
        {
          type: 'custom',
          name: '± σ',
          color: ink.text,
          renderItem: whisker,
          encode: { x: 0, y: [1, 2] },
          data: shown.flatMap(({ mean, deviation }, index) =>
            deviation > 0 ? [[index, Math.max(0, mean - deviation), Math.min(top, mean + deviation)]] : [],
          ),
          z: 3,
        },
        {
          type: 'scatter',
          name: 'best copy',
          symbol: cross,
          symbolSize: few ? 11 : 6,
          color: tones.red,
          data: shown.map(({ best }, index) => [index, best]),
          z: 4,
        },
      ],
    },
    360 + (few ? 70 : 0),
  );
}

const whisker: CustomSeriesRenderItem = (_params, api) => {
  const [x = 0, low = 0] = api.coord([api.value(0), api.value(1)]);
  const [, high = 0] = api.coord([api.value(0), api.value(2)]);
  return {
    type: 'line',
    shape: { x1: x, y1: low, x2: x, y2: high },
    style: { stroke: ink.text, lineWidth: 1.4 },
  };
};

/** So many of a list, at even distances, its ends among them. */
export function evenly<Each>(list: readonly Each[], most: number): readonly Each[] {
  if (list.length <= most) return list;
  return Array.from({ length: most }, (_, index) =>
    Math.round((index * (list.length - 1)) / (most - 1)),
  ).flatMap((at) => list[at] ?? []);
}

/** One row a part of the grader: from its lowest to its highest score, and its mean. */
export function drawParts(parts: readonly PartSpread[]): string {
  return drawSvg(
    {
      legend: legend(),
      grid: { left: 280, right: 40, top: 44, bottom: 54 },
      xAxis: { ...valueAxis('score of the part'), min: 0, max: Math.max(1, ...parts.map(({ max }) => max)) },
      yAxis: [...rowAxes(parts.map(({ part }) => part))],
      series: [
        barSeries(
          'lowest to highest',
          ink.band,
          16,
          parts.map(({ min, max }, row) => [min, max, row]),
        ),
        {
          type: 'scatter',
          name: 'mean',
          symbol: 'diamond',
          symbolSize: 13,
          color: tones.blue,
          data: parts.map(({ mean }, row) => [mean, row]),
          z: 4,
          ...onRows,
        },
      ],
    },
    110 + 34 * parts.length,
  );
}
