import { figure } from '#infra/monitoring/dashboards/description.ts';
import type { Limits, Panel, PanelKind, Query, Unit } from '#infra/monitoring/dashboards/definition.ts';
import { type Box, short, text } from './svg.ts';

type Sketch = (panel: Panel, box: Box) => readonly string[];

/** What the panel shows, drawn into `box`: its kind, its limits and the names of its series. No curve, because there is no data. */
export const sketchOf = (panel: Panel, box: Box): readonly string[] => sketches[panel.kind](panel, box);

const seriesColours = ['first', 'second', 'third'] as const;

const sketches: Readonly<Record<PanelKind, Sketch>> = {
  stat: ({ limits, unit }, box) => [
    text(placeholders[unit] ?? '––', box.x, box.y + box.h / 2 + 2, 'quiet', 17),
    ...limitStrip(limits, unit, box),
  ],
  lines: ({ limits, unit, queries }, box) => [
    ...axes(box),
    ...limitLines(limits, unit, box),
    ...seriesNames(queries, box, 3),
  ],
  stacked: ({ queries }, box) => [...axes(box), ...seriesNames(queries, box, 10)],
  heatmap: (_panel, box) => [...axes(box), ...cells(box)],
  table: (_panel, box) => tableOf(box),
};

/** Grafana's legend: a line or a block in the color of each query, with the labels by which its series differ. */
function seriesNames(queries: readonly Query[], { x, y, h }: Box, markHeight: number): readonly string[] {
  const named = queries.filter(({ legend }) => legend !== '').slice(0, seriesColours.length);
  return named.flatMap(({ legend }, index) => {
    const middle = y + h - 9 - (named.length - 1 - index) * 15;
    const colour = seriesColours[index] ?? 'first';
    return [
      `<rect class="${colour}" x="${x}" y="${short(middle - markHeight / 2)}" width="14" height="${markHeight}"/>`,
      text(legend.replaceAll(/\{\{ *(\w+) *\}\}/g, '$1'), x + 20, middle + 3.5, 'quiet', 10),
    ];
  });
}

const placeholders: Partial<Record<Unit, string>> = {
  share: '–.– %',
  seconds: '–.– s',
  hours: '–.– h',
  yesNo: 'yes / no',
};

const axes = ({ x, y, w, h }: Box) => [
  ...[0.25, 0.5, 0.75].map(
    (part) => `<path class="edge-line" stroke-width=".6" d="M${x} ${short(y + h * part)}h${short(w)}"/>`,
  ),
  `<path class="edge-line" d="M${x} ${short(y + h)}h${short(w)}"/>`,
];

/** Room for the figures of the limits at the right. */
const limitsWidth = 52;

/** Dashed, as Grafana draws them; the highest limit near the top, whatever its figure. */
function limitLines(limits: Limits, unit: Unit, { x, y, w, h }: Box): readonly string[] {
  if ('none' in limits) return [];
  return limits.steps.map(({ from, colour }, index) => {
    const at = short(y + h * (1 - (index + 1.6) / (limits.steps.length + 1.8)));
    const line = `<path class="${colour}-line" stroke-dasharray="5 4" stroke-width="1.2" d="M${x} ${at}h${short(w - limitsWidth)}"/>`;
    return `${line}${text(figure(from, unit), x + w, at + 3.5, 'quiet', 10, 400, 'end')}`;
  });
}

/** The colours in their order, each from its limit on. */
function limitStrip(limits: Limits, unit: Unit, { x, y, w, h }: Box): readonly string[] {
  const top = short(y + h - 4);
  if ('none' in limits)
    return [`<rect class="edge" x="${x}" y="${top}" width="${short(w)}" height="4" rx="2"/>`];
  const colours = [limits.below, ...limits.steps.map(({ colour }) => colour)];
  const part = w / colours.length;
  const bars = colours.map(
    (colour, index) =>
      `<rect class="${colour}" x="${short(x + part * index)}" y="${top}" width="${short(part - 1.5)}" height="4"/>`,
  );
  const names = limits.steps.map(({ from }, index) =>
    text(figure(from, unit), x + part * (index + 1), top - 4, 'quiet', 9.5),
  );
  return [...bars, ...names];
}

const cellColumns = 30;

/** The columns of a heatmap, and how its cells read. */
const cells = ({ x, y, w, h }: Box): readonly string[] => [
  ...Array.from(
    { length: cellColumns - 1 },
    (_, index) =>
      `<path class="edge-line" stroke-width=".6" d="M${short(x + (w * (index + 1)) / cellColumns)} ${short(y)}v${short(h)}"/>`,
  ),
  `<rect class="panel" x="${short(x + w / 2 - 70)}" y="${short(y + h / 2 - 10)}" width="140" height="18"/>`,
  text('a darker cell: more often', x + w / 2, y + h / 2 + 3.5, 'quiet', 10, 400, 'middle'),
];

function tableOf({ x, y, w, h }: Box): readonly string[] {
  const rows = Math.floor(h / 18);
  return Array.from({ length: rows }, (_, row) => {
    const middle = y + row * 18 + 9;
    const head = [0, 0.34, 0.68].map(
      (part) =>
        `<rect class="quiet" x="${short(x + w * part)}" y="${short(middle - 3)}" width="${short(w * 0.12)}" height="6" rx="3"/>`,
    );
    return `${row === 0 ? head.join('') : ''}<path class="edge-line" stroke-width=".6" d="M${x} ${short(middle + 9)}h${short(w)}"/>`;
  });
}
