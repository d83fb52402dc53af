import { ceilingLine, drawSvg, ink, legend, toneOf, tones, valueAxis } from '#cli/drawing/svg.ts';
import type { Difference, Quadrants } from '../compare.ts';
import type { Ceiling } from '../rollout.ts';
import type { Latency, SubjectStudy } from '../found.ts';
import { evenly } from './items.ts';

/** What the best of k copies scores, for each subject, next to each ceiling. */
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

/** A page of a megabyte is still light. */
const mostPoints = 1_500;

/** One dot a rollout: how long it took, and what it was paid; the line is where 95 % of them end. */
export function drawLatency({ points, p95 }: Latency): string {
  const inTime = points.toSorted((a, b) => a.seconds - b.seconds);
  return drawSvg(
    {
      grid: { left: 56, right: 60, top: 34, bottom: 54 },
      xAxis: { ...valueAxis('seconds from the first request to the score'), min: 0 },
      yAxis: { ...valueAxis('reward'), min: 0, max: Math.max(1, ...points.map(({ score }) => score)) },
      series: [
        {
          type: 'scatter',
          color: tones.blue,
          symbolSize: 8,
          itemStyle: { opacity: 0.45 },
          data: evenly(inTime, mostPoints).map(({ seconds, score }) => [seconds, score]),
          markLine: {
            silent: true,
            symbol: 'none',
            lineStyle: { color: tones.red, type: 'dashed' },
            label: { formatter: `P95: ${(p95 ?? 0).toFixed(1)} s`, color: tones.red },
            data: [{ xAxis: p95 ?? 0 }],
          },
        },
      ],
    },
    320,
  );
}

/** One dot an item: to the left, fewer calls; upwards, a better reward. The corners have the counts. */
export function drawQuadrants({ differences, counts }: Quadrants): string {
  const reach = (value: (one: Difference) => number, least: number) =>
    Math.max(least, ...differences.map((one) => Math.abs(value(one)))) * 1.1;
  const [x, y] = [reach(({ calls }) => calls, 1), reach(({ reward }) => reward, 0.1)];
  const zero = {
    symbol: 'none' as const,
    silent: true,
    lineStyle: { color: ink.quiet, type: 'solid' as const },
    label: { show: false },
  };
  return drawSvg(
    {
      grid: { left: 62, right: 36, top: 34, bottom: 54 },
      xAxis: {
        ...valueAxis('difference of calls a rollout'),
        min: -x,
        max: x,
        axisLabel: short,
        splitLine: { show: false },
      },
      yAxis: { ...valueAxis('difference of reward'), min: -y, max: y, axisLabel: short, nameGap: 40 },
      graphic: {
        elements: [
          corner(`${counts.better.fewer} better with fewer calls`, true, true),
          corner(`${counts.better.more} better with more calls`, false, true),
          corner(`${counts.worse.fewer} worse with fewer calls`, true, false),
          corner(`${counts.worse.more} worse with more calls`, false, false),
        ],
      },
      series: [
        {
          type: 'scatter',
          symbolSize: 10,
          itemStyle: { opacity: 0.5 },
          data: evenly(differences, mostPoints).map(({ calls, reward }) => ({
            value: [calls, reward],
            itemStyle: { color: reward > 0 ? tones.green : reward < 0 ? tones.red : tones.grey },
          })),
          markLine: { ...zero, data: [{ xAxis: 0 }, { yAxis: 0 }] },
        },
      ],
    },
    380,
  );
}

/** Next to the plot, where there are no dots. */
const corner = (text: string, left: boolean, top: boolean) => ({
  type: 'text' as const,
  silent: true,
  [left ? 'left' : 'right']: left ? 62 : 36,
  [top ? 'top' : 'bottom']: 10,
  style: { text, fill: ink.quiet, fontSize: 13, fontFamily: 'inherit' },
});

/** The ends of the axes are wherever the outermost dot needs them, and no round numbers. */
const short = {
  color: ink.quiet,
  showMinLabel: false,
  showMaxLabel: false,
  formatter: (value: number) => String(Number(value.toFixed(2))),
};
