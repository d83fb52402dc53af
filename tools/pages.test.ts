import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../docs', path), 'utf8');

test('the glossary explains each word in two lines, in the order of the alphabet', () => {
  const entries = read('glossary.md').trim().split('\n\n').slice(1);
  expect(entries.length).toBeGreaterThan(25);
  expect(entries.filter((entry) => !/^\*\*[^*]+\.\*\* .+\n.+$/.test(entry))).toEqual([]);
  const words = entries.map((entry) => /^\*\*([^*.]+)/.exec(entry)?.[1]?.toLowerCase() ?? '');
  expect(words).toEqual(words.toSorted());
});

test('the comparison says of every alternative first what it does better', () => {
  const parts = read('compare.md').split('\n## ').slice(1, -1);
  expect(parts.length).toBeGreaterThan(4);
  const second = parts.map((part) => part.split('\n\n')[2] ?? '');
  expect(second.filter((paragraph) => !paragraph.startsWith('**Better:**'))).toEqual([]);
});

// Pages whose tables are for look-up; older pages join as they are reworded.
test.each([
  'README.md',
  'clients/e2b.md',
  'clients/harbor.md',
  'clients/python.md',
  'clients/typescript.md',
  'commands.md',
  'compare.md',
  'environments.md',
  'environments/data.md',
  'environments/demands.md',
  'environments/fields.md',
  'environments/graders.md',
  'environments/images.md',
  'environments/network.md',
  'environments/tools.md',
  'gallery.md',
  'install.md',
  'load-tests.md',
  'managed-redis.md',
  'proving.md',
  'rates.md',
  'recovery.md',
  'study.md',
  'traces.md',
  'trainers.md',
])('no cell of a table in %s is above 160 characters', (page) => {
  const cells = [...read(page).matchAll(/^\|.*\|$/gm)].flatMap(([row]) => row.slice(2, -2).split(' | '));
  expect(cells.length).toBeGreaterThan(5);
  expect(cells.filter((cell) => cell.length > 160)).toEqual([]);
});
