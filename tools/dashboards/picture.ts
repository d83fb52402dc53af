import type { Dashboard } from '#infra/monitoring/dashboards/definition.ts';
import {
  gridColumns,
  layoutOf,
  type Place,
  type PlacedPanel,
  type PlacedRow,
} from '#infra/monitoring/dashboards/layout.ts';
import { unitText } from '#infra/monitoring/dashboards/description.ts';
import { sketchOf } from './sketch.ts';
import { type Box, linesOf, text } from './svg.ts';

// A picture of a dashboard's layout: its rows and panels where Grafana puts them, each with its title, its unit and a hint of
// its kind. No data is in it. It follows its reader's light or dark by itself, as Grafana does.

/** As wide as a page's column; rows are lower than Grafana's, since there are only hints to see. */
const pixels = { column: 44, row: 21, gap: 4, margin: 16, head: 92 } as const;
const width = gridColumns * pixels.column + 2 * pixels.margin;

/** The SVG of one dashboard, as a text. */
export function pictureOf(dashboard: Dashboard): string {
  const layout = layoutOf(dashboard);
  const bottom = Math.max(...layout.flatMap(({ panels }) => panels.map(({ place }) => place.y + place.h)));
  const height = pixels.head + bottom * pixels.row + pixels.margin;
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" role="img" aria-label="Layout of the dashboard ${dashboard.title}">`,
    `<style>${styleSheet()}</style>`,
    `<rect class="paper" width="${width}" height="${height}" rx="8"/>`,
    ...headOf(dashboard),
    ...layout.flatMap(rowOf),
    '</svg>',
  ];
  return `${parts.join('\n')}\n`;
}

/** What stands for what, light and dark. */
const colours = {
  paper: ['#f4f5f5', '#111217'],
  panel: ['#ffffff', '#181b1f'],
  edge: ['#d5d9de', '#30353d'],
  ink: ['#24292e', '#d8dce3'],
  quiet: ['#68707a', '#8f97a3'],
  first: ['#3b78d8', '#6e9fff'],
  second: ['#8a6fd1', '#b7a6f2'],
  third: ['#2a978e', '#58c4ba'],
  green: ['#3fa45b', '#56b870'],
  yellow: ['#dba31c', '#e3b341'],
  red: ['#d2434a', '#f0616a'],
} as const satisfies Record<string, readonly [string, string]>;

/** A class `NAME` fills with a colour, `NAME-line` draws with it. */
const rules = (theme: 0 | 1): string =>
  Object.entries(colours)
    .map(
      ([name, themes]) => `.${name}{fill:${themes[theme]}}.${name}-line{stroke:${themes[theme]};fill:none}`,
    )
    .join('');

/** Renderers that know no `@media` show the light one. */
const styleSheet = (): string => `${rules(0)}@media (prefers-color-scheme:dark){${rules(1)}}`;

function headOf({ title, description, environments }: Dashboard): readonly string[] {
  const chosen = ['Prometheus', 'namespace', 'fleet', ...(environments === 'unused' ? [] : ['environment'])];
  const chips = chosen.map((name, index) => {
    const box = { x: pixels.margin + 2 + index * 122, y: 60, w: 114, h: 22 };
    return `${panelRect(box)}${text(name, box.x + 9, box.y + 15, 'quiet', 11)}${text('▾', box.x + box.w - 16, box.y + 15, 'quiet', 11)}`;
  });
  return [
    text(title, pixels.margin + 2, 28, 'ink', 17, 600),
    text(description, pixels.margin + 2, 48, 'quiet', 12),
    ...chips,
  ];
}

function rowOf({ title, place, panels }: PlacedRow): readonly string[] {
  const { x, y, h } = boxOf(place);
  return [text(`▾ ${title}`, x + 2, y + h - 3, 'ink', 13, 600), ...panels.flatMap(panelOf)];
}

const boxOf = ({ x, y, w, h }: Place): Box => ({
  x: pixels.margin + x * pixels.column + pixels.gap / 2,
  y: pixels.head + y * pixels.row + pixels.gap / 2,
  w: w * pixels.column - pixels.gap,
  h: h * pixels.row - pixels.gap,
});

const panelRect = ({ x, y, w, h }: Box) =>
  `<rect class="panel" x="${x}" y="${y}" width="${w}" height="${h}" rx="3"/><rect class="edge-line" x="${x}" y="${y}" width="${w}" height="${h}" rx="3"/>`;

const titleSize = 12;
const titleLeading = 15;
const padding = 10;

/** Its title, its unit below, and in what is left the hint of its kind. */
function panelOf({ panel, place }: PlacedPanel): readonly string[] {
  const box = boxOf(place);
  const lines = linesOf(panel.title, box.w - 2 * padding, titleSize);
  const left = box.x + padding;
  const titles = lines.map((line, index) =>
    text(line, left, box.y + 18 + index * titleLeading, 'ink', titleSize, 600),
  );
  const isStat = panel.kind === 'stat';
  const used = 18 + lines.length * titleLeading + (isStat ? -8 : 4);
  const unit = isStat ? [] : [text(unitText(panel.unit), left, box.y + used - 2, 'quiet', 10)];
  const inner = { x: left, y: box.y + used, w: box.w - 2 * padding, h: box.h - used - padding };
  return [panelRect(box), ...titles, ...unit, ...sketchOf(panel, inner)];
}
