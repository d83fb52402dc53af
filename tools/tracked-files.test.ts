import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');

const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((file) => file !== '');

// The letters in brackets keep this file from naming what it forbids.
const forbidden = [
  { what: 'a path of somebody’s own machine', pattern: /\/(?:[w]ork|[h]ome\/[a-z]+|[U]sers)\/[a-z]/ },
  { what: 'a folder of a build machine', pattern: /\/tmp\/[b]rief/ },
  {
    what: 'a private package host',
    pattern: /https?:\/\/[^\s'"/]*(?:[a]rtifactory|[n]exus|[v]erdaccio|\.[i]nternal\b)/,
  },
  { what: 'a registry address in a lock file', pattern: /"[r]esolved": "https?:/ },
] as const;

function textOf(file: string): string {
  try {
    const bytes = readFileSync(join(root, file));
    return bytes.includes(0) ? '' : bytes.toString('utf8');
  } catch (error) {
    // Deleted in the work tree and not yet committed.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

test.each(forbidden)('no tracked file holds $what', ({ pattern }) => {
  expect(tracked.filter((file) => pattern.test(textOf(file)))).toEqual([]);
});

const comments = { ts: /\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*$/gm, lua: /--.*$/gm } as const;
const page = /[\w./-]*\w\.md\b/g;

/** The pages that a file's comments name, which are links only by being found. */
function pagesIn(file: string): readonly string[] {
  const kind = file.endsWith('.lua') ? 'lua' : 'ts';
  const told = textOf(file).match(comments[kind]) ?? [];
  return told.flatMap((comment) => comment.match(page) ?? []);
}

test('a page that a comment names is a tracked one, so that whoever reads on finds it', () => {
  const ends = new Set(tracked.flatMap(pathEnds));
  const sources = tracked.filter((file) => /\.(?:ts|lua)$/.test(file));
  const named = sources.flatMap((file) => pagesIn(file).map((name) => ({ file, name })));
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter(({ name }) => !ends.has(name))).toEqual([]);
});

/** `a/b/c`, `b/c` and `c`: a comment may name a file from where it stands. */
function pathEnds(file: string): readonly string[] {
  const parts = file.split('/');
  return parts.map((_, from) => parts.slice(from).join('/'));
}

test('the list of tracked files is not empty', () => {
  expect(tracked).toContain('package.json');
});
