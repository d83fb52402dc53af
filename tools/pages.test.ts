import { readdirSync, readFileSync } from 'node:fs';
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

// Generated from sentences that command lines and error bodies show as well.
const withLongCells = new Set(['alerts.md', 'dashboards.md', 'failures.md', 'metrics.md', 'upgrade.md']);
const pages = readdirSync(join(import.meta.dirname, '../docs'), { recursive: true, encoding: 'utf8' });
const withTables = pages.filter((page) => page.endsWith('.md') && !withLongCells.has(page));

test.each(['../SECURITY.md', ...withTables])('no cell of a table in %s is above 160 characters', (page) => {
  const cells = [...read(page).matchAll(/^\|.*\|$/gm)].flatMap(([row]) => row.slice(2, -2).split(' | '));
  expect(cells.filter((cell) => cell.length > 160)).toEqual([]);
});
