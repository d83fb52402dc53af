import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { valuesSchema } from './values-schema.ts';
import { valueRows, valuesTable, withTable } from './values-table.ts';
import { withoutLookAhead } from './words-of-helm.ts';

const root = join(import.meta.dirname, '../..');
const read = (name: string) => readFile(join(root, name), 'utf8');
const values = await read('charts/corral/values.yaml');
const stale = 'the chart’s pages are stale. Write them again: node_modules/.bin/node tools/write-chart.ts';

test('values.schema.json says what the schema says', async () => {
  expect((await read('charts/corral/values.schema.json')) === valuesSchema(), stale).toBe(true);
});

test('the table of the chart’s README says what values.yaml says', async () => {
  const page = await read('charts/corral/README.md');
  expect(page === withTable(page, valuesTable(valueRows(values))), stale).toBe(true);
});

test('the defaults are what the schema admits', () => {
  const fits = new Ajv2020({ strict: false }).compile(JSON.parse(valuesSchema()) as object);
  fits(parse(values));
  expect(fits.errors).toBeNull();
});

test('every object that names its fields admits no others, but for Helm’s own `global`', () => {
  expect(openObjects(JSON.parse(valuesSchema()), '')).toEqual(['/properties/global']);
});

/** Where a schema names fields of an object and says nothing against others. */
function openObjects(schema: unknown, place: string): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { type, properties, additionalProperties } = schema as Readonly<Record<string, unknown>>;
  const isOpen =
    type === 'object' && Object.keys(properties ?? {}).length > 0 && additionalProperties !== false;
  const below = Object.entries(schema).flatMap(([name, inner]) => openObjects(inner, `${place}/${name}`));
  return isOpen ? [place, ...below] : below;
}

test('the chart’s version of the images is the repository’s', async () => {
  const chart = parse(await read('charts/corral/Chart.yaml')) as { readonly appVersion: string };
  const { version } = JSON.parse(await read('package.json')) as { readonly version: string };
  expect(chart.appVersion).toBe(version);
});

test('the operators’ page needs the same Kubernetes as the chart', async () => {
  const chart = parse(await read('charts/corral/Chart.yaml')) as { readonly kubeVersion: string };
  const [, minor] = /^>=1\.(\d+)\.0-0$/.exec(chart.kubeVersion) ?? [];
  expect(await read('docs/operators.md')).toContain(`| Kubernetes 1.${minor} or later`);
});

describe('a pattern without look-ahead', () => {
  test.each([
    ['^[a-z]+$', { rest: '^[a-z]+$', refused: [] }],
    ['^(?!none$)[a-z]+$', { rest: '^[a-z]+$', refused: ['^none$'] }],
    ['^(?!a/)(?!b/)[a-z/]+$', { rest: '^[a-z/]+$', refused: ['^a/', '^b/'] }],
  ])('of %s', (pattern, parts) => {
    expect(withoutLookAhead(pattern)).toEqual(parts);
  });
});

test('a value that nobody explained is not listed in silence', () => {
  expect(() => valueRows('# of the file\nfleet: ""\n')).toThrow('fleet has no comment');
});

test('a mapping’s first value has its own comment, and what is below an explained value is its default', () => {
  const yaml = 'redis:\n  # -- One.\n  # Two.\n  url: ""\n  # -- Three.\n  tls: { on: false }\n';
  expect(valueRows(yaml)).toEqual([
    { name: 'redis.url', fallback: '""', meaning: 'One. Two.' },
    { name: 'redis.tls', fallback: '{"on":false}', meaning: 'Three.' },
  ]);
});
