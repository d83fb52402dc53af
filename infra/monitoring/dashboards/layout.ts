import type { Dashboard, Panel, Row } from './definition.ts';

/** A place on Grafana's grid: 24 columns, and rows of 30 pixels and some air. */
export type Place = { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
export type PlacedPanel = { readonly panel: Panel; readonly place: Place };
export type PlacedRow = {
  readonly title: string;
  readonly place: Place;
  readonly panels: readonly PlacedPanel[];
};

export const gridColumns = 24;

/** Where rows and panels stand, for Grafana and for the picture alike. */
export function layoutOf({ rows }: Dashboard): readonly PlacedRow[] {
  const placed: PlacedRow[] = [];
  for (const row of rows) placed.push(placeRow(row, bottomOf(placed.at(-1))));
  return placed;
}

const bottomOf = (row: PlacedRow | undefined): number =>
  row === undefined ? 0 : Math.max(...[row, ...row.panels].map(({ place }) => place.y + place.h));

/** Places panels next to each other while there are columns left, then below. Panels of one line are equally high. */
function placeRow({ title, panels }: Row, top: number): PlacedRow {
  const placed: PlacedPanel[] = [];
  let [x, y, high] = [0, top + 1, 0];
  for (const panel of panels) {
    const { columns: w, rows: h } = panel.size;
    if (x + w > gridColumns) [x, y, high] = [0, y + high, 0];
    placed.push({ panel, place: { x, y, w, h } });
    [x, high] = [x + w, Math.max(high, h)];
  }
  return { title, place: { x: 0, y: top, w: gridColumns, h: 1 }, panels: placed };
}
