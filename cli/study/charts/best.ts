import { ceilingLine, drawSvg, legend, toneOf, valueAxis } from '#cli/drawing/svg.ts';
import type { Ceiling } from '../rollout.ts';
import type { SubjectStudy } from '../study.ts';

/** What the best of k copies is paid, for each subject, beside each ceiling. */
export function drawBestOfK(subjects: readonly SubjectStudy[], ceilings: readonly Ceiling[] = []): string {
  const most = Math.max(1, ...subjects.map(({ bestOfK }) => bestOfK.length));
  return drawSvg(
    {
      legend: legend(),
      grid: { left: 56, right: 60, top: 44, bottom: 54 },
      xAxis: { ...valueAxis('copies of which the best counts (k)'), min: 1, max: most, minInterval: 1 },
      yAxis: { ...valueAxis('mean over items'), min: 0, max: 1 },
      series: subjects.map(({ name, bestOfK }, index) => ({
        type: 'line' as const,
        name,
        color: toneOf(index),
        symbol: 'circle',
        symbolSize: 7,
        lineStyle: { width: 2.5 },
        data: bestOfK.map(({ k, mean }) => [k, mean]),
        ...(index === 0 ? ceilingLine(ceilings) : {}),
        endLabel: {
          show: bestOfK.length > 0,
          color: toneOf(index),
          formatter: (bestOfK.at(-1)?.mean ?? 0).toFixed(2),
        },
      })),
    },
    320,
  );
}
