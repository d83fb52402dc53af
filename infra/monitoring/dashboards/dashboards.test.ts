import { describe, expect, test } from 'vitest';
import { dashboards, panelQueries } from './dashboards.ts';
import { descriptionOf } from './description.ts';
import { grafanaOf } from './grafana.ts';
import { gridColumns, layoutOf } from './layout.ts';

const panels = dashboards.flatMap(({ rows }) => rows.flatMap((row) => row.panels));

test.each(panels)(
  '“$title” says how it is read, what to do, and why its colours change where they do',
  (panel) => {
    expect(panel.reading).toMatch(/\.$/);
    expect(panel.todo).toMatch(/\.$/);
    expect(descriptionOf(panel)).toContain(panel.todo);
    if ('none' in panel.limits) return;
    const limits = panel.limits.steps.map(({ from }) => from);
    expect(limits).toEqual(limits.toSorted((a, b) => a - b));
    const colours = [panel.limits.below, ...panel.limits.steps.map(({ colour }) => colour)];
    expect(new Set(colours).size).toBe(colours.length);
  },
);

test('every selector of every query is of the chosen fleets only', () => {
  const selectors = panels
    .flatMap(({ queries }) => queries)
    .flatMap(({ expr }) => [...expr.matchAll(/\{[^}]*\}/g)].map(([selector]) => selector));
  expect(selectors.filter((one) => !one.includes('namespace=~"$namespace",fleet=~"$fleet"'))).toEqual([]);
  expect(selectors.length).toBeGreaterThan(100);
});

test('series are named by labels that are left of them', () => {
  for (const { title, queries } of panels) {
    for (const { expr, legend } of queries) {
      const named = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
      const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) =>
        labels.split(', '),
      );
      // Without any grouping series keep all labels of their process.
      expect(grouped.length === 0 ? ['pod'] : grouped, title).toEqual(expect.arrayContaining(named));
    }
  }
});

describe.each(dashboards)('$title', (dashboard) => {
  const layout = layoutOf(dashboard);
  const placed = [...layout, ...layout.flatMap((row) => row.panels)].map(({ place }) => place);

  test('has no two panels of one title, nor two in one place', () => {
    const titles = dashboard.rows.flatMap((row) => row.panels.map(({ title }) => title));
    expect(new Set(titles).size).toBe(titles.length);
    const cells = placed.flatMap(({ x, y, w, h }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(placed.every(({ x, w }) => x + w <= gridColumns)).toBe(true);
  });

  test('leaves no hole at the right or between its panels', () => {
    const area = placed.reduce((sum, { w, h }) => sum + w * h, 0);
    const bottom = Math.max(...placed.map(({ y, h }) => y + h));
    expect(area).toBe(gridColumns * bottom);
  });

  test('is Grafana’s with the four variables, links to the others, and ids that stay', () => {
    const { uid, templating, links, panels: all } = grafanaOf(dashboard);
    expect(uid).toBe(dashboard.uid);
    expect(templating?.list?.map(({ name }) => name)).toEqual([
      'datasource',
      'namespace',
      'fleet',
      'environment',
    ]);
    expect(links).toMatchObject([
      { type: 'dashboards', tags: ['corral'], includeVars: true, keepTime: true },
    ]);
    expect(all?.map(({ id }) => id)).toEqual(all?.map((_, index) => index + 1));
  });

  test('chooses environments only where a panel looks at some', () => {
    const used = JSON.stringify(dashboard.rows).includes('$environment');
    expect(used).toBe(dashboard.environments !== 'unused');
  });
});

test('queries for Prometheus have none of Grafana’s variables left', () => {
  const queries = panelQueries(600);
  expect(queries.length).toBeGreaterThan(80);
  expect(queries.filter(({ expr }) => expr.includes('$'))).toEqual([]);
  expect(queries.some(({ expr }) => expr.includes('[600s]'))).toBe(true);
});
