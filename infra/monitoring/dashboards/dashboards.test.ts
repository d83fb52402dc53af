import { describe, expect, test } from 'vitest';
import { dashboards, panelQueries } from './dashboards.ts';
import type { Panel } from './definition.ts';
import { descriptionOf } from './description.ts';
import { grafanaOf } from './grafana.ts';
import { gridColumns, layoutOf } from './layout.ts';

const panels = dashboards.flatMap(({ uid, rows }) =>
  rows.flatMap((row) => row.panels.map((panel): [string, Panel] => [`${uid}: ${panel.title}`, panel])),
);

describe.each(panels)('%s', (_name, panel) => {
  test('says what to do, and why its colours change where they do', () => {
    expect(panel.reading).toMatch(/\.$/);
    expect(panel.todo).toMatch(/[.)]$/);
    expect(descriptionOf(panel)).toContain(panel.todo);
    if ('none' in panel.limits) return;
    const limits = panel.limits.steps.map(({ from }) => from);
    expect(limits).toEqual(limits.toSorted((a, b) => a - b));
    expect(new Set([panel.limits.below, ...panel.limits.steps.map(({ colour }) => colour)]).size).toBe(
      panel.limits.steps.length + 1,
    );
  });

  test('asks of the chosen fleets only', () => {
    for (const { expr } of panel.queries) {
      const selectors = [...expr.matchAll(/\{[^}]*\}/g)].map(([selector]) => selector);
      expect(selectors.length).toBeGreaterThan(0);
      for (const selector of selectors) expect(selector).toContain('namespace=~"$namespace",fleet=~"$fleet"');
    }
  });

  test('names its series by labels that they have', () => {
    for (const { expr, legend } of panel.queries) {
      const named = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
      const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) =>
        labels.split(', '),
      );
      // Without any grouping the series keep all labels of their process.
      const kept = grouped.length === 0 ? ['pod'] : grouped;
      expect(kept).toEqual(expect.arrayContaining(named));
    }
  });
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
