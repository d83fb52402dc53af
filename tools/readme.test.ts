import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const readme = read('README.md');

const blockOf = (text: string, language: string): readonly string[] => {
  const [, block = ''] = text.split(`\n\`\`\`${language}\n`);
  return (block.split('\n```')[0] ?? '').split('\n').filter(Boolean);
};
const linksOf = (text: string): readonly string[] =>
  [...text.matchAll(/(?<!!)\[[^\]]*\]\(([^)]*)\)/g)].map((match) => match[1] ?? '');

test('the README is one screen: 40 lines, one picture, and eight links at its end', () => {
  expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(40);
  expect(readme.match(/!\[/g)).toHaveLength(1);
  expect(linksOf(readme.trimEnd().split('\n\n').at(-1) ?? '')).toHaveLength(8);
});

test('the README has the command of the demo and the command of the tests', () => {
  const commands = blockOf(readme, 'sh').map((line) => line.split('#')[0]?.trim());
  expect(commands).toEqual(['npm run demo', 'npm test']);
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Readonly<Record<string, string>> };
  expect(scripts).toMatchObject({ demo: expect.any(String) as string, test: expect.any(String) as string });
});

// The tests of the clients run the first block of these pages.
test.each([
  ['python', 'docs/clients/python.md'],
  ['ts', 'docs/clients/typescript.md'],
])('the %s lines of the README are the first ones of %s, five at most', (language, page) => {
  const lines = blockOf(readme, language);
  expect(lines).toEqual(blockOf(read(page), language));
  expect(lines.length).toBeGreaterThan(3);
  expect(lines.length).toBeLessThanOrEqual(5);
});

test('docs/README.md lists every page of docs, except the pages below alerts and decisions', () => {
  const listed = new Set(linksOf(read('docs/README.md')).map((link) => link.split('#')[0]));
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.md') && !/^(?:runbooks|decisions)\/|^README\.md$/.test(path),
  );
  expect(pages.length).toBeGreaterThan(30);
  expect(pages.filter((page) => !listed.has(page))).toEqual([]);
});
