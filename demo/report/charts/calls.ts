import type { BarSeriesOption } from 'echarts';
import { chartWidth, drawSvg, ink, legend, tones, valueAxis } from '#cli/drawing/svg.ts';
import { policies } from '#demo/policies/roster.ts';
import type { RolloutRecord } from '#demo/trainer/record.ts';
import { countByTool } from '../report.ts';

/** Tool calls that the environment's grader takes nothing off for. */
const freeCalls = 12;

const toolTones: Readonly<Record<string, string>> = { shell: tones.blue, read_file: tones.orange };

/** Where the columns stand, so that the names of policies can stand over them. */
const plot = { left: 56, right: 30, top: 70, bottom: 40, height: 340 } as const;

/** One column a rollout, gathered by policy, each stacked by tool. */
export function drawCalls(records: readonly RolloutRecord[]): string {
  const sorted = byPolicy(records);
  const tools = Object.keys(countByTool(records.flatMap((record) => record.calls)));
  return drawSvg(
    {
      legend: legend({ data: tools }),
      grid: { left: plot.left, right: plot.right, top: plot.top, bottom: plot.bottom },
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
      graphic: { elements: policyBands(sorted) },
      series: [
        ...tools.map((tool) => toolSeries(tool, sorted)),
        { type: 'bar', stack: 'calls', data: [], markLine: freeCallsLine },
      ],
    },
    plot.height,
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

/** The name of each policy over its columns, and a shade behind every second policy. */
function policyBands(records: readonly RolloutRecord[]) {
  const columnPx = (chartWidth - plot.left - plot.right) / records.length;
  return policies.flatMap((policy, index) => {
    const first = records.findIndex((record) => record.policy === policy.name);
    const count = records.filter((record) => record.policy === policy.name).length;
    if (count === 0) return [];
    const x = plot.left + first * columnPx;
    const width = count * columnPx;
    return [bandShade(x, width, index), bandName(policy.name, x + width / 2)];
  });
}

const bandShade = (x: number, width: number, index: number) => ({
  type: 'rect' as const,
  z: -1,
  silent: true,
  shape: { x, y: plot.top - 22, width, height: plot.height - plot.top - plot.bottom + 22 },
  style: { fill: index % 2 === 0 ? ink.band : 'transparent', opacity: 0.5 },
});

const bandName = (name: string, x: number) => ({
  type: 'text' as const,
  silent: true,
  style: {
    text: name,
    x,
    y: plot.top - 17,
    align: 'center' as const,
    fill: ink.text,
    fontSize: 12,
    fontFamily: 'inherit',
  },
});

const freeCallsLine: NonNullable<BarSeriesOption['markLine']> = {
  silent: true,
  symbol: 'none',
  lineStyle: { color: ink.text, type: 'dashed' },
  label: { formatter: `${freeCalls} are free`, color: ink.text, position: 'insideEndTop' },
  data: [{ yAxis: freeCalls }],
};
