import type { BarSeriesOption } from 'echarts';
import { policies } from '../../policies/roster.ts';
import type { RolloutRecord } from '../../trainer/record.ts';
import { countByTool } from '../report.ts';
import { drawSvg, ink, legend, tones, valueAxis } from './drawing.ts';

/** Tool calls that the environment's grader takes nothing off for. */
const freeCalls = 12;

const toolTones: Readonly<Record<string, string>> = { shell: tones.blue, read_file: tones.orange };

/** One column a rollout, gathered by policy, each stacked by tool. */
export function drawCalls(records: readonly RolloutRecord[]): string {
  const sorted = byPolicy(records);
  const tools = Object.keys(countByTool(records.flatMap((record) => record.calls)));
  return drawSvg(
    {
      legend: legend({ data: tools }),
      grid: { left: 56, right: 30, top: 70, bottom: 40 },
      xAxis: {
        type: 'category',
        data: sorted.map((record) => record.rollout),
        name: 'rollouts, by policy',
        nameLocation: 'middle',
        nameGap: 14,
        nameTextStyle: { color: ink.quiet },
        axisLabel: { show: false },
        axisTick: { show: false },
        axisLine: { lineStyle: { color: ink.grid } },
      },
      yAxis: { ...valueAxis('tool calls'), minInterval: 1 },
      series: [...tools.map((tool) => toolSeries(tool, sorted)), policyAreas(sorted)],
    },
    340,
  );
}

function byPolicy(records: readonly RolloutRecord[]): readonly RolloutRecord[] {
  return policies.flatMap((policy) =>
    records
      .filter((record) => record.policy === policy.name)
      .toSorted((a, b) => a.calls.length - b.calls.length),
  );
}

const toolSeries = (tool: string, records: readonly RolloutRecord[]): BarSeriesOption => ({
  type: 'bar',
  name: tool,
  stack: 'calls',
  color: toolTones[tool] ?? tones.grey,
  barCategoryGap: '25%',
  data: records.map((record) => countByTool(record.calls)[tool] ?? 0),
});

/** An empty series that carries the names of the policies above their columns, and the line of the free calls. */
function policyAreas(records: readonly RolloutRecord[]): BarSeriesOption {
  const spans = policies.flatMap((policy, index) => {
    const first = records.findIndex((record) => record.policy === policy.name);
    const last = records.findLastIndex((record) => record.policy === policy.name);
    if (first === -1) return [];
    const shade = { color: index % 2 === 0 ? ink.band : 'transparent', opacity: 0.5 };
    return [[{ name: policy.name, xAxis: first, itemStyle: shade }, { xAxis: last }] as const];
  });
  return {
    type: 'bar',
    stack: 'calls',
    data: [],
    markArea: {
      silent: true,
      label: { color: ink.text, position: 'top', fontSize: 12 },
      data: spans.map(([from, to]) => [from, to]),
    },
    markLine: {
      silent: true,
      symbol: 'none',
      lineStyle: { color: tones.red, type: 'dashed' },
      label: { formatter: `${freeCalls} are free`, color: tones.red, position: 'insideEndTop' },
      data: [{ yAxis: freeCalls }],
    },
  };
}
