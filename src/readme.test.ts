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
