import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { anchorOf } from './markdown/anchor.ts';

const root = join(import.meta.dirname, '..');
const list = (...what: string[]) =>
  execFileSync('git', ['ls-files', '-z', ...what], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter(Boolean);
const tracked = new Set(list().flatMap((file) => [file].concat(foldersOf(file))));
const pages = new Map(list('*.md').map((path) => [path, proseOf(path)]));

/** Without code, where brackets are no links and hashes no headings. */
function proseOf(path: string): string {
  return readFileSync(join(root, path), 'utf8').replaceAll(/^ *```[^`]*^ *```/gm, '');
}

function foldersOf(file: string): readonly string[] {
  const folder = dirname(file);
  return folder === '.' ? [] : [folder, ...foldersOf(folder)];
}

type Link = { readonly page: string; readonly to: string };

/** Links to files and headings of the repository. */
const links: readonly Link[] = [...pages].flatMap(([page, text]) =>
  [...text.matchAll(/\]\(([^()\s]+)\)/g)]
    .map((match) => ({ page, to: match[1] ?? '' }))
    .filter(({ to }) => !/^[a-z]+:/.test(to)),
);

function targetOf({ page, to }: Link) {
  const [path = '', heading = null] = to.split('#');
  return { path: path === '' ? page : normalize(join(dirname(page), path)).replace(/\/$/, ''), heading };
}

const anchorsOf = (text: string): readonly string[] =>
  [...text.matchAll(/^#+ (.+)$/gm)].map((match) => anchorOf(match[1] ?? ''));

test('each link of a page leads to a file of the repository', () => {
  expect(links.length).toBeGreaterThan(200);
  expect(links.filter((link) => !tracked.has(targetOf(link).path))).toEqual([]);
});

test('each link to a heading leads to one that the page has', () => {
  const dead = links.filter((link) => {
    const { path, heading } = targetOf(link);
    const text = pages.get(path);
    return heading !== null && text !== undefined && !anchorsOf(text).includes(heading);
  });
  expect(dead).toEqual([]);
});

test('no blank line cuts a table in two', () => {
  const cut = [...pages].flatMap(([page, text]) =>
    [...text.matchAll(/^\|.*\n\n(\|.*)\n(?!\| ?:?-)/gm)].map((match) => ({ page, row: match[1] })),
  );
  expect(cut).toEqual([]);
});

test('no heading of a page skips a level', () => {
  const levels = [...pages].map(([page, text]) => ({
    page,
    found: [...text.matchAll(/^(#+) /gm)].map(([, marks = '']) => marks.length),
  }));
  const skipping = levels.filter(({ found }) => found.some((level, at) => level > (found[at - 1] ?? 0) + 1));
  expect(skipping).toEqual([]);
});
