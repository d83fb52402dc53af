import { drawSvg, ink, legend, tones, valueAxis } from '#cli/drawing/svg.ts';
import type { Amounts, Bigram, ToolUse } from '../traces.ts';

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
