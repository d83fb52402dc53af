import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const text = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
const root = join(import.meta.dirname, '..');

test('a file that the map of the source names is where it says', () => {
  const named = [...text.matchAll(/`((?:src|services|tools)\/[^`]+\.\w+)`/g)].map(([, path = '']) => path);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

test('each room of the source has its line on the map', () => {
  const rooms = readdirSync(import.meta.dirname, { withFileTypes: true });
  const missing = rooms.filter((room) => room.isDirectory() && !text.includes(`| \`${room.name}\` |`));
  expect(missing.map(({ name }) => name)).toEqual([]);
});

test('what the map says stands in a file is in that file', () => {
  const told = [...text.matchAll(/`([\w-]+)`(?: and `([\w-]+)`)? in\s+`((?:src|services)\/[^`]+)`/g)].flatMap(
    ([, one = '', other, path = '']) => [one, other].flatMap((name) => (name ? [{ name, path }] : [])),
  );
  const inWalks = [...text.matchAll(/`((?:src|services)\/[^`]+)` \(`([\w-]+)`\)/g)].map(
    ([, path = '', name = '']) => ({ name, path }),
  );
  expect(told.length).toBeGreaterThan(5);
  expect(inWalks.length).toBeGreaterThan(3);
  const missing = [...told, ...inWalks].filter(
    ({ name, path }) => !new RegExp(`\\b${name}\\b`).test(readFileSync(join(root, path), 'utf8')),
  );
  expect(missing).toEqual([]);
});

const filesIn = (part: string) =>
  new Set([...part.matchAll(/`((?:src|services)\/[^`]+\.\w+)`/g)].map(([, path]) => path)).size;
const partOf = (title: string) => text.split(`\n## ${title}\n`)[1]?.split('\n## ')[0] ?? '';

/** Whoever has to open more loses the thread: then something is cut too small, and this map is not where it is fixed. */
test.each(['One warm tool call', 'One cold start'])('%s leads through nineteen files at most', (title) => {
  const files = filesIn(partOf(title));
  expect(files).toBeGreaterThan(15);
  expect(files).toBeLessThanOrEqual(19);
});

test('a question is answered by this page and four files at most', () => {
  const answers = partOf('Questions').split(/^ *- /m).slice(1);
  expect(answers.length).toBeGreaterThan(4);
  expect(answers.filter((answer) => filesIn(answer) > 4)).toEqual([]);
});
