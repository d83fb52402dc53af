import { drawSvg, ink, legend, toneOf, tones, valueAxis } from '#cli/drawing/svg.ts';
import type { SubjectStudy } from '../found.ts';
import type { Amounts, Bigram, ToolUse, Traces } from '../traces.ts';

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

/** Mean and P95 of what one call says, by tool; in tokens where they are known. */
export function drawSizes(tools: readonly ToolUse[]): string {
  const inTokens = tools.some(({ tokens }) => tokens !== null);
  const amountOf = ({ tokens, bytes }: ToolUse): Amounts | null => (inTokens ? tokens : bytes);
  return drawSvg(
    {
      legend: legend(),
      grid: { left: 180, right: 40, top: 44, bottom: 54 },
      xAxis: {
        ...valueAxis(inTokens ? 'tokens that a call puts into the context' : 'bytes that a call says'),
        min: 0,
      },
      yAxis: {
        type: 'category',
        inverse: true,
        data: tools.map(({ tool }) => tool),
        axisLabel: { color: ink.text, width: 165, overflow: 'truncate' },
        axisTick: { show: false },
        axisLine: { show: false },
      },
      series: [
        {
          type: 'bar',
          name: 'mean',
          color: tones.teal,
          barMaxWidth: 20,
          data: tools.map((tool) => amountOf(tool)?.mean ?? 0),
        },
        {
          type: 'scatter',
          name: 'P95',
          symbol: 'diamond',
          symbolSize: 13,
          color: tones.orange,
          data: tools.map((tool) => amountOf(tool)?.p95 ?? 0),
        },
      ],
    },
    110 + 36 * tools.length,
  );
}

/** More tools than that make no picture. */
const mostTools = 12;

/** Which tool follows which: the darker, the more often. */
export function drawBigrams(bigrams: readonly Bigram[]): string {
  const byUse = Map.groupBy(
    bigrams.flatMap(({ first, next, times }) => [
      { tool: first, times },
      { tool: next, times },
    ]),
    ({ tool }) => tool,
  );
  const tools = [...byUse]
    .map(([tool, uses]) => ({ tool, times: uses.reduce((all, { times }) => all + times, 0) }))
    .toSorted((a, b) => b.times - a.times || (a.tool < b.tool ? -1 : 1))
    .slice(0, mostTools)
    .map(({ tool }) => tool);
  const cells = bigrams.flatMap(({ first, next, times }) => {
    const [x, y] = [tools.indexOf(next), tools.indexOf(first)];
    return x < 0 || y < 0 ? [] : [[x, y, times]];
  });
  const most = Math.max(1, ...cells.map(([, , times]) => times ?? 0));
  const axis = {
    type: 'category' as const,
    data: tools,
    axisLabel: { color: ink.text, width: 150, overflow: 'truncate' as const },
    axisTick: { show: false },
    axisLine: { show: false },
    nameLocation: 'middle' as const,
    nameTextStyle: { color: ink.quiet },
  };
  return drawSvg(
    {
      grid: { left: 180, right: 40, top: 54, bottom: 20 },
      xAxis: { ...axis, name: 'then', position: 'top', nameGap: 28 },
      yAxis: { ...axis, name: 'first', inverse: true, nameGap: 150 },
      series: [
        {
          type: 'heatmap',
          data: cells.map(([x = 0, y = 0, times = 0]) => ({
            value: [x, y, times],
            itemStyle: { color: `rgba(74, 134, 197, ${(0.15 + (0.85 * times) / most).toFixed(2)})` },
          })),
          label: {
            show: true,
            color: ink.text,
            formatter: ({ value }) => String(Array.isArray(value) ? value[2] : ''),
          },
        },
      ],
      visualMap: { show: false, min: 0, max: most, inRange: { color: [tones.blue, tones.blue] } },
    },
    90 + 40 * Math.max(1, tools.length),
  );
}
