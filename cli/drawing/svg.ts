import * as echarts from 'echarts';
import type { CustomSeriesOption, CustomSeriesRenderItem, EChartsOption } from 'echarts';

/** Page variables: the same drawing serves a light and a dark page. */
export const ink = {
  text: 'var(--text)',
  quiet: 'var(--quiet)',
  grid: 'var(--grid)',
  band: 'var(--band)',
  page: 'var(--page)',
} as const;

/** Middle tones, legible on white and on near-black, and apart from each other for colour-blind eyes. */
export const tones = {
  blue: '#4a86c5',
  teal: '#2f9e8f',
  orange: '#e0863a',
  violet: '#9a6fc0',
  gold: '#b8962e',
  grey: '#8a919c',
  red: '#d6453d',
  green: '#5a9e4b',
} as const;

/** The tones in an order in which neighbours differ. */
export const toneOf = (index: number): string =>
  [tones.blue, tones.orange, tones.teal, tones.violet, tones.gold, tones.green, tones.grey][index % 7] ??
  tones.grey;

/** A cross, drawn as a path because echarts has none of its own. */
export const cross = 'path://M0 2 L2 0 L6 4 L10 0 L12 2 L8 6 L12 10 L10 12 L6 8 L2 12 L0 10 L4 6 Z';

/** Width of the page's column; the page scales a drawing down, never up. */
export const chartWidth = 1040;

/** Draws without a browser, as SVG text that needs no script. */
export function drawSvg(option: EChartsOption, height: number): string {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width: chartWidth, height });
  const textStyle = { color: ink.text, fontFamily: 'inherit', fontSize: 13 };
  chart.setOption({ animation: false, backgroundColor: 'transparent', textStyle, ...option });
  const svg = chart.renderToSVGString({ useViewBox: true });
  chart.dispose();
  return withoutScripting(svg);
}

/** What lights up under a pointer, and marks by which a script would find its way: a third of the text, and nothing to see. */
function withoutScripting(svg: string): string {
  const [drawn = '', ...styled] = svg.split('<style >');
  const rest = styled.map((part) => part.slice(part.indexOf('</style>') + '</style>'.length));
  return [drawn, ...rest].join('').replaceAll(forScripts, '');
}

const forScripts = / (?:class="zr[\w-]{1,40}|ecmeta_\w{1,40}="[^"]{0,80})"/g;

export function valueAxis(name: string) {
  return {
    type: 'value' as const,
    name,
    nameLocation: 'middle' as const,
    nameGap: 32,
    nameTextStyle: { color: ink.quiet },
    axisLabel: { color: ink.quiet },
    axisLine: { show: false },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: ink.grid } },
  };
}

/** Two overlaid axes: row names, and whole numbers at their middles, so that marks fit next to each other. */
export function rowAxes(names: readonly string[]) {
  const shown = {
    type: 'category' as const,
    data: [...names],
    inverse: true,
    axisLabel: { color: ink.text },
    axisTick: { show: false },
    axisLine: { show: false },
    splitLine: { show: true, lineStyle: { color: ink.grid } },
  };
  const placed = {
    type: 'value' as const,
    inverse: true,
    show: false,
    min: -0.5,
    max: names.length - 0.5,
  };
  return [shown, placed] as const;
}

/** Which of {@link rowAxes} the marks use. */
export const onRows = { yAxisIndex: 1 } as const;

export const legend = (more: object = {}) => ({
  top: 0,
  left: 0,
  itemWidth: 12,
  itemHeight: 12,
  // Letters are measured without the reader's font, and some are wider than that.
  itemGap: 28,
  textStyle: { color: ink.text },
  ...more,
});

/** Lines across the whole drawing, each with its name and height: part of any one series. */
export const ceilingLine = (ceilings: readonly { readonly name: string; readonly mean: number }[]) => ({
  markLine: {
    silent: true,
    symbol: 'none',
    lineStyle: { color: tones.violet, width: 2, type: 'dashed' as const },
    label: { color: tones.violet, position: 'insideEndTop' as const, fontSize: 13 },
    data: ceilings.map(({ name, mean }) => ({
      yAxis: mean,
      label: { formatter: `${name} ${mean.toFixed(2)}` },
    })),
  },
});

/** A bar from `x0` to `x1` in row `y`; data rows are `[x0, x1, y]`. */
export function barSeries(
  name: string,
  color: string,
  heightPx: number,
  data: readonly (readonly number[])[],
): CustomSeriesOption {
  const renderItem: CustomSeriesRenderItem = (_params, api) => {
    const [left = 0, middle = 0] = api.coord([api.value(0), api.value(2)]);
    const [right = 0] = api.coord([api.value(1), api.value(2)]);
    // A call of a millisecond must still be seen.
    const width = Math.max(1.5, right - left);
    const shape = { x: left, y: middle - heightPx / 2, width, height: heightPx, r: 1 };
    return { type: 'rect', shape, style: { fill: color } };
  };
  return { type: 'custom', name, color, renderItem, data: data.map((row) => [...row]), z: 2, ...onRows };
}
