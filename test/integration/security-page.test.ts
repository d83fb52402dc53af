import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '../..');
const page = await readFile(join(repository, 'SECURITY.md'), 'utf8');
const links = [...page.matchAll(/\]\(([^)#]+)/g)].map((found) => found[1] ?? '');

test.each(links)('SECURITY.md names %s, and it is there', async (path) => {
  await expect(access(join(repository, path))).resolves.toBeUndefined();
});

test('each suite of attacks is evidence on SECURITY.md', async () => {
  const suites = await readdir(join(repository, 'test/e2e/attacks'));
  expect(suites.filter((file) => !links.includes(`test/e2e/attacks/${file}`))).toEqual([]);
});

test('no cell of a table on SECURITY.md is empty', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('|'));
  // A row of one of the tables begins with an empty cell if it goes on with the goal of the row before.
  const empty = rows.filter((row) =>
    row
      .split('|')
      .slice(2, -1)
      .some((cell) => cell.trim() === ''),
  );
  expect(rows.length).toBeGreaterThan(40);
  expect(empty).toEqual([]);
});

/** By number, the files that an entry of the evidence links to. */
const evidence = new Map(
  [...page.matchAll(/^(\d+)\. ((?:.+\n)(?:   .+\n)*)/gm)].map(([, number, entry = '']) => [
    number,
    [...entry.matchAll(/\]\(([^)#]+)/g)].map((found) => found[1] ?? ''),
  ]),
);
const named = [...page.matchAll(/(\d+) “([^”]+)”/g)].map(([, number = '', title = '']) => ({
  number,
  title,
}));

test.each(named)('evidence $number has a test with the title “$title”', async ({ number, title }) => {
  const files = (evidence.get(number) ?? []).filter((path) => path.endsWith('.test.ts'));
  const texts = await Promise.all(files.map((path) => readFile(join(repository, path), 'utf8')));
  expect(texts.filter((text) => text.includes(`'${title}'`))).not.toEqual([]);
});

test('the table by surface names its tests', () => {
  expect(named.length).toBeGreaterThan(10);
});
