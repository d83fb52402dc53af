import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { alertsPage } from '#infra/monitoring/alerts-page.ts';
import { placeholders } from '#infra/monitoring/rules/rule.ts';
import { rulesFile } from '#infra/monitoring/rules/rules-file.ts';
import { rulesOfTest } from './promtool.ts';

const root = join(import.meta.dirname, '../../..');
const stale = (name: string) =>
  `${name} is stale. Write it again: node_modules/.bin/node tools/write-rules.ts`;

test.each([
  ['charts/corral/files/rules.yaml', rulesFile],
  ['docs/alerts.md', alertsPage],
])('%s says what the rules say', async (name, written) => {
  expect((await readFile(join(root, name), 'utf8')) === written(), stale(name)).toBe(true);
});

test('the chart fills in every name that the rules leave open', async () => {
  const template = await readFile(
    join(root, 'charts/corral/templates/monitoring/prometheusrule.yaml'),
    'utf8',
  );
  for (const placeholder of Object.values(placeholders)) {
    expect(rulesFile()).toContain(placeholder);
    expect(template).toContain(`replace "${placeholder}"`);
  }
  expect(rulesOfTest()).not.toContain('__');
});

test('every metric is asked of this fleet alone', () => {
  const selectors = [...rulesFile().matchAll(/\b(?:corral_[a-z_]+|corral:[a-z_:0-9]+)(?<next>.)/g)];
  const open = selectors.filter(({ groups, input, index }) => {
    const isRecord = input.slice(0, index).endsWith('record: ');
    return !isRecord && groups?.['next'] !== '{';
  });
  expect(open.map(([text]) => text)).toEqual([]);
  expect(selectors.length).toBeGreaterThan(60);
});
