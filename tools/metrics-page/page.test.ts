import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { catalogue, metricNames } from '#src/adapters/prometheus/catalogue/catalogue.ts';
import type { Spec } from '#src/adapters/prometheus/catalogue/spec.ts';
import { metricsPage, mostOf } from './page.ts';

const file = join(import.meta.dirname, '../../docs/metrics.md');

test('docs/metrics.md says what the catalogue says', async () => {
  const stale =
    'docs/metrics.md is stale. Write it again: node_modules/.bin/node tools/write-metrics-page.ts';
  expect((await readFile(file, 'utf8')) === metricsPage(), stale).toBe(true);
});

test('every metric has one row, with its help and each of its labels', () => {
  const rows = metricsPage()
    .split('\n')
    .filter((line) => line.startsWith('| `corral_') && line.split(' | ').length === 5);
  expect(rows).toHaveLength(metricNames.length);
  for (const name of metricNames) {
    const spec: Spec = catalogue[name];
    const row = rows.find((line) => line.startsWith(`| \`${name}\` |`));
    expect(row).toContain(spec.help);
    for (const label of spec.labels.flatMap(({ names }) => names)) expect(row).toContain(`\`${label}\``);
  }
});

test('no process can have 20,000 series in a fleet of 300 templates and 50 environments', () => {
  expect(mostOf('gateway')).toBeLessThan(20_000);
  expect(mostOf('controller')).toBeLessThan(20_000);
});
