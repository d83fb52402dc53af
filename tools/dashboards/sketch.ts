import { figure } from '#infra/monitoring/dashboards/description.ts';
import type { Limits, Panel, PanelKind, Unit } from '#infra/monitoring/dashboards/definition.ts';
import { type Box, short, text } from './svg.ts';

type Sketch = (panel: Panel, box: Box, wave: Wave) => readonly string[];
/** A number from 0 to 1 that belongs to the panel, so that no two pictures look the same and each always does. */
type Wave = (index: number) => number;

/** A hint of what the panel shows, drawn into `box`: its kind and its limits, not data. */
export const sketchOf = (panel: Panel, box: Box): readonly string[] =>
  sketches[panel.kind](panel, box, waveOf(panel.title));

function waveOf(title: string): Wave {
  const seed = Buffer.from(title).reduce((sum, byte) => (sum * 31 + byte) % 9973, 7);
  return (index) => {
    const x = Math.sin(seed + index * 12.9898) * 43_758.5453;
    return x - Math.floor(x);
  };
}

/** How many points a curve has. */
const points = 25;
const curveColours = ['first', 'second', 'third'] as const;

const sketches: Readonly<Record<PanelKind, Sketch>> = {
  stat: ({ limits, unit }, box) => [
    text(placeholders[unit] ?? '––', box.x, box.y + box.h / 2 + 2, 'quiet', 17),
    ...limitStrip(limits, unit, box),
  ],
  lines: ({ limits, unit }, box, wave) => [
    ...axes(box),
    ...curveColours.map((colour, index) =>
      curve(besideLimits(limits, box), colour, curveOf(wave, index, 0.75 - index * 0.2)),
    ),
    ...limitLines(limits, unit, box),
  ],
  stacked: (_panel, box, wave) => [
    ...axes(box),
    ...curveColours.map((colour, index) => area(box, colour, curveOf(wave, 0, 0.85 - index * 0.27))),
  ],
  heatmap: (_panel, box, wave) => [...axes(box), ...cells(box, wave)],
  table: (_panel, box, wave) => tableOf(box, wave),
};

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

/** Heights from 0 to 1, smooth, around a mean. */
const curveOf = (wave: Wave, index: number, mean: number): readonly number[] =>
  Array.from({ length: points }, (_, at) => {
    const slow = Math.sin(at / (2.5 + 2 * wave(index)) + 6 * wave(index + 10));
    return Math.min(1, Math.max(0.03, mean * (0.8 + 0.22 * slow + 0.1 * (wave(at + 20 * index) - 0.5))));
  });

const dots = ({ x, y, w, h }: Box, heights: readonly number[]) =>
  heights
    .map((height, at) => `${short(x + (w * at) / (points - 1))} ${short(y + h * (1 - height))}`)
    .join('L');

const curve = (box: Box, colour: string, heights: readonly number[]) =>
  `<path class="${colour}-line" stroke-width="1.4" stroke-linejoin="round" d="M${dots(box, heights)}"/>`;

const area = (box: Box, colour: string, heights: readonly number[]) =>
  `<path class="panel" d="M${dots(box, heights)}V${short(box.y + box.h)}H${box.x}z"/><path class="${colour}" fill-opacity=".35" d="M${dots(box, heights)}V${short(box.y + box.h)}H${box.x}z"/>${curve(box, colour, heights)}`;

/** Room for the figures of the limits at the right. */
const limitsWidth = 52;

const besideLimits = (limits: Limits, box: Box): Box =>
  'none' in limits ? box : { ...box, w: box.w - limitsWidth };

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
const cellRows = 7;

function cells({ x, y, w, h }: Box, wave: Wave): readonly string[] {
  const [wide, high] = [w / cellColumns, h / cellRows];
  return Array.from({ length: cellColumns * cellRows }, (_, index) => {
    const [column, row] = [index % cellColumns, Math.floor(index / cellColumns)];
    const middle = 5 + 1.4 * Math.sin(column / 4 + 6 * wave(1));
    const heat = Math.exp(-((row - middle) ** 2) / 1.8) * (0.55 + 0.45 * wave(index));
    return heat < 0.08
      ? ''
      : `<rect class="first" fill-opacity="${short(heat * 0.9)}" x="${short(x + column * wide)}" y="${short(y + row * high)}" width="${short(wide - 1)}" height="${short(high - 1)}"/>`;
  }).filter((cell) => cell !== '');
}

function tableOf({ x, y, w, h }: Box, wave: Wave): readonly string[] {
  const rows = Math.floor(h / 18);
  return Array.from({ length: rows }, (_, row) => {
    const middle = y + row * 18 + 9;
    const bars = [0, 0.34, 0.68].map((part, column) => {
      const wide = w * 0.3 * (0.35 + 0.6 * wave(row * 3 + column));
      return `<rect class="${row === 0 ? 'quiet' : 'edge'}" x="${short(x + w * part)}" y="${short(middle - 3)}" width="${short(row === 0 ? w * 0.12 : wide)}" height="6" rx="3"/>`;
    });
    return `${bars.join('')}<path class="edge-line" stroke-width=".6" d="M${x} ${short(middle + 9)}h${short(w)}"/>`;
  });
}
