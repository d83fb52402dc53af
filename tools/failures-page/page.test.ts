import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { failureCodes } from '#src/failure/codes.ts';
import { wrapped } from './markdown.ts';
import { failuresPage } from './page.ts';

const file = join(import.meta.dirname, '../../docs/failures.md');

test('docs/failures.md says what the tables say', async () => {
  const stale =
    'docs/failures.md is stale. Write it again: node_modules/.bin/node tools/write-failures-page.ts';
  expect((await readFile(file, 'utf8')) === failuresPage(), stale).toBe(true);
});

test('every code has one heading, in the section that it is told in', () => {
  const headings = [...failuresPage().matchAll(/^### `(\w+)`$/gm)].map(([, code]) => code);
  expect(headings).toHaveLength(failureCodes.length);
  expect(new Set(headings)).toEqual(new Set(failureCodes));
});

test('every link inside the page leads to a heading of it', () => {
  const page = failuresPage();
  const anchors = new Set([...page.matchAll(/^##+ (.*)$/gm)].map(([, title = '']) => anchorOf(title)));
  const links = [...page.matchAll(/\]\(#([^)]*)\)/g)].map(([, anchor = '']) => anchor);
  expect(links.filter((link) => !anchors.has(link))).toEqual([]);
});

/** As the usual renderers make them: lower case, no punctuation, hyphens for spaces. */
const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
    .replaceAll(' ', '-');

test('a long text is broken into lines, and a word that fits no line stands alone', () => {
  const lines = wrapped(`- ${'word '.repeat(60)}${'x'.repeat(200)} end`, '  ').split('\n');
  expect(lines.map((line) => line.length <= 130)).toEqual([true, true, true, false, true]);
  expect(lines.slice(1).every((line) => line.startsWith('  '))).toBe(true);
});
