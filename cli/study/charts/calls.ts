import { drawSvg, ink, legend, toneOf, tones, valueAxis } from '#cli/drawing/svg.ts';
import type { SubjectStudy } from '../study.ts';
import type { Traces } from '../traces.ts';

/** One row a subject: its calls per rollout, stacked by tool. */
export function drawToolCalls(subjects: readonly SubjectStudy[]): string {
  const tools = [...new Set(subjects.flatMap(({ traces }) => traces.tools.map(({ tool }) => tool)))];
  return drawSvg(
    {
      legend: legend({ data: tools }),
      grid: { left: 180, right: 40, top: 44, bottom: 54 },
      xAxis: { ...valueAxis('calls a rollout, on the mean'), min: 0 },
      yAxis: {
        type: 'category',
        inverse: true,
        data: subjects.map(({ name }) => name),
        axisLabel: { color: ink.text, width: 165, overflow: 'truncate' },
        axisTick: { show: false },
        axisLine: { show: false },
      },
      series: tools.map((tool, index) => ({
        type: 'bar' as const,
        name: tool,
        stack: 'calls',
        color: toneOf(index),
        barMaxWidth: 26,
        data: subjects.map(({ traces }) => traces.tools.find((one) => one.tool === tool)?.perRollout ?? 0),
      })),
    },
    110 + 40 * subjects.length,
  );
}

/** Beyond it, one column would be less than three pixels wide; what is longer is counted in the last. */
const mostColumns = 120;

/** How many rollouts made how many calls, and where 95 % of them end. */
export function drawHistogram({ histogram, p95 }: Traces): string {
  const columns = histogram.slice(0, mostColumns);
  const beyond = histogram.slice(mostColumns).reduce((all, each) => all + each, 0);
  if (beyond > 0) columns.push(beyond);
  const names = columns.map((_, calls) => (calls === mostColumns ? `${calls}+` : String(calls)));
  return drawSvg(
    {
      grid: { left: 56, right: 60, top: 34, bottom: 54 },
      xAxis: {
        type: 'category',
        data: names,
        name: 'tool calls of a rollout',
        nameLocation: 'middle',
        nameGap: 30,
        nameTextStyle: { color: ink.quiet },
        axisLabel: { color: ink.quiet },
        axisTick: { show: false },
        axisLine: { lineStyle: { color: ink.grid } },
      },
      yAxis: { ...valueAxis('rollouts'), minInterval: 1, nameGap: 40 },
      series: [
        {
          type: 'bar',
          color: tones.blue,
          barCategoryGap: '20%',
          barMaxWidth: 60,
          data: columns,
          markLine: {
            silent: true,
            symbol: 'none',
            lineStyle: { color: tones.red, type: 'dashed' },
            label: { formatter: `P95: ${p95 ?? 0}`, color: tones.red },
            data: [{ xAxis: names[Math.min(p95 ?? 0, names.length - 1)] ?? '0' }],
          },
        },
      ],
    },
    280,
  );
}
