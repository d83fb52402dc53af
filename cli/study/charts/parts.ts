import { barSeries, drawSvg, ink, legend, onRows, rowAxes, tones, valueAxis } from '#cli/drawing/svg.ts';
import type { PartSpread } from '../spread.ts';

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
