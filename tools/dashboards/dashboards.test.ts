import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { dashboards } from '#infra/monitoring/dashboards/dashboards.ts';
import { dashboardFiles } from './files.ts';
import { linesOf, text } from './svg.ts';

const root = join(import.meta.dirname, '../..');
const files = dashboardFiles();

test.each(Object.keys(files))('%s is what the definition gives', async (name) => {
  const stale = 'it is stale. Write it again: node_modules/.bin/node tools/write-dashboards.ts';
  expect((await readFile(join(root, name), 'utf8')) === files[name], stale).toBe(true);
});

test.each(['charts/corral/files/dashboards', 'docs/dashboards'])(
  '%s has no file that nobody writes',
  async (folder) => {
    const written = Object.keys(files).filter((name) => name.startsWith(`${folder}/`));
    expect((await readdir(join(root, folder))).map((name) => `${folder}/${name}`).sort()).toEqual(
      written.sort(),
    );
  },
);

describe.each(dashboards)('$title', ({ uid, rows }) => {
  const picture = files[`docs/dashboards/${uid}.svg`] ?? '';
  const page = files['docs/dashboards.md'] ?? '';

  test('has each panel in its picture, whole, and on the page', () => {
    for (const { title } of rows.flatMap(({ panels }) => panels)) {
      for (const word of title.split(' ')) expect(picture).toContain(word);
      expect(page).toContain(`| **${title}** (`);
    }
  });

  test('has no curve in its picture, because it has no data', () => {
    expect(picture).not.toMatch(/ d="M[^"]*L/);
  });

  test('has nothing in its picture that a browser would load or run', () => {
    expect(picture).not.toMatch(/<(script|image|foreignObject|a|use)\b|href|url\(|@import/);
  });
});

test('words of a picture are broken where they do not fit, and none of them is markup', () => {
  expect(linesOf('How long does the first in line wait?', 150, 12)).toEqual([
    'How long does the',
    'first in line wait?',
  ]);
  expect(text('a < b & c', 1, 2, 'ink', 12)).toContain('>a &lt; b &amp; c<');
});
