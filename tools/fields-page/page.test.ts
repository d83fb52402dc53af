import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EnvironmentSchema } from '#src/environments/schema/environment.ts';
import { describedPlaces, type Place } from '../schemas/hover-texts.ts';
import { fieldsPage } from './page.ts';

const root = join(import.meta.dirname, '../..');

test('docs/environments/fields.md has what the fields mean', async () => {
  const page = await readFile(join(root, 'docs/environments/fields.md'), 'utf8');
  const stale = 'docs/environments/fields.md is stale: run node_modules/.bin/node tools/write-fields-page.ts';
  expect(page === fieldsPage(), stale).toBe(true);
});

test('every field of the schema has a meaning, and no other', () => {
  const schema = JSON.parse(JSON.stringify(EnvironmentSchema)) as Place;
  const described = describedPlaces(schema);
  expect(Object.keys(schema.properties ?? {})).toContain('sandbox');
  for (const [place, fields] of described) {
    // `sandbox` and `pool` are described field by field.
    const names = Object.keys(place.properties ?? {}).filter((name) => !['sandbox', 'pool'].includes(name));
    expect(names.toSorted()).toEqual(Object.keys(fields).toSorted());
  }
});

test('no cell of the page is above 160 characters', () => {
  const cells = [...fieldsPage().matchAll(/^\|.*\|$/gm)].flatMap(([row]) => row.slice(2, -2).split(' | '));
  expect(cells.filter((cell) => cell.length > 160)).toEqual([]);
});
